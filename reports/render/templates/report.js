// SPDX-License-Identifier: Apache-2.0
// Filter and sort for tables, and folded parts that open when a link leads into them.
// The page is complete without it.
(function () {
  "use strict";
  var LEAST_ROWS = 8;
  function number(text) {
    var found = text.replace(/[\u202f,]/g, "").replace(/\u2212/g, "-").match(/^[^0-9+-]*([+-]?[0-9.]+(?:e[+-]?[0-9]+)?)/i);
    return found ? parseFloat(found[1]) : NaN;
  }
  function compare(a, b) {
    var x = number(a), y = number(b);
    if (isNaN(x) && isNaN(y)) { return a.localeCompare(b); }
    if (isNaN(x)) { return 1; }
    if (isNaN(y)) { return -1; }
    return x - y;
  }
  function sortBy(table, column, heads, numeric) {
    var head = heads[column];
    var down = head.getAttribute("aria-sort") === "ascending";
    heads.forEach(function (other) { other.removeAttribute("aria-sort"); });
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    var body = table.tBodies[0];
    var rows = Array.prototype.map.call(body.rows, function (row, place) {
      return { row: row, place: place, text: row.cells[column].textContent.trim() };
    });
    rows.sort(function (a, b) {
      var order = numeric ? compare(a.text, b.text) : a.text.localeCompare(b.text);
      return (down ? -order : order) || a.place - b.place;
    });
    table.classList.add("sorted");
    rows.forEach(function (item) { body.appendChild(item.row); });
  }
  function sortable(table) {
    var heads = Array.prototype.slice.call(table.tHead.rows[0].cells);
    heads.forEach(function (head, column) {
      var button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      while (head.firstChild) { button.appendChild(head.firstChild); }
      head.appendChild(button);
      button.addEventListener("click", function () {
        sortBy(table, column, heads, head.classList.contains("num"));
      });
    });
  }
  function filterable(table, region) {
    var field = document.createElement("label");
    field.className = "filter";
    var input = document.createElement("input");
    input.type = "search";
    input.placeholder = "words or numbers to look for";
    var shown = document.createElement("span");
    shown.setAttribute("aria-live", "polite");
    field.append("Filter ", input, " ", shown);
    region.parentNode.insertBefore(field, region);
    input.addEventListener("input", function () {
      var words = input.value.toLowerCase().split(/\s+/).filter(Boolean), left = 0;
      Array.prototype.forEach.call(table.tBodies[0].rows, function (row) {
        var text = row.textContent.replace(/\u202f/g, "").toLowerCase();
        row.hidden = !words.every(function (word) { return text.indexOf(word) >= 0; });
        left += row.hidden ? 0 : 1;
      });
      shown.textContent = words.length ? left + " of " + table.tBodies[0].rows.length + " rows" : "";
    });
  }
  function reveal() {
    var target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (var part = target; part; part = part.parentElement) {
      if (part.tagName === "DETAILS") { part.open = true; }
    }
    if (target) { target.scrollIntoView(); }
  }
  document.querySelectorAll(".scroll > table").forEach(function (table) {
    if (table.tBodies[0].rows.length < LEAST_ROWS) { return; }
    sortable(table);
    filterable(table, table.parentNode);
  });
  window.addEventListener("hashchange", reveal);
  if (location.hash) { reveal(); }
})();
