// SPDX-License-Identifier: Apache-2.0
// Takes a picture out as SVG or PNG, for a slide: title, caption, legend, panels, footer on white.
(function () {
  "use strict";
  var NS = "http://www.w3.org/2000/svg", EDGE = 14, GAP = 18, ACROSS = 3, PIXELS_A_POINT = 200 / 72;
  var FAMILY = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";
  var ruler = document.createElement("canvas").getContext("2d");
  function made(parent, name, attributes) {
    var element = parent.appendChild(document.createElementNS(NS, name));
    Object.keys(attributes).forEach(function (key) { element.setAttribute(key, attributes[key]); });
    return element;
  }
  function said(figure, choice) {
    return Array.prototype.map.call(figure.querySelectorAll(choice), function (found) { return found.textContent.trim(); });
  }
  function paragraph(page, text, size, look) {
    var lines = [];
    ruler.font = (look["font-weight"] || 400) + " " + size + "px " + FAMILY;
    text.split(/\s+/).forEach(function (word) {
      var longer = lines.length ? lines[lines.length - 1] + " " + word : word;
      if (lines.length && ruler.measureText(longer).width <= page.width - 2 * EDGE) { lines[lines.length - 1] = longer; } else { lines.push(word); }
    });
    lines.forEach(function (line) {
      page.down += 1.3 * size;
      var element = made(page.svg, "text", { x: EDGE, y: (page.down - 0.3 * size).toFixed(1), "font-size": size, "font-family": FAMILY });
      Object.keys(look).forEach(function (key) { element.setAttribute(key, look[key]); });
      element.textContent = line;
    });
  }
  function legend(page, figure) {
    var right = EDGE;
    figure.querySelectorAll(".legend li").forEach(function (item) {
      ruler.font = "10.5px " + FAMILY;
      var name = item.textContent.trim(), width = 50 + ruler.measureText(name).width;
      if (right === EDGE || right + width > page.width - EDGE) { right = EDGE; page.down += 16; }
      var sign = page.svg.appendChild(document.querySelector(item.querySelector("use").getAttribute("href")).firstChild.cloneNode(true));
      sign.setAttribute("x", right); sign.setAttribute("y", page.down - 10);
      made(page.svg, "text", { x: right + 34, y: page.down, "font-size": 10.5, "font-family": FAMILY, fill: "#1f2933" }).textContent = name;
      right += width;
    });
  }
  function drawn(figure) {
    var panels = Array.prototype.slice.call(figure.querySelectorAll("[role=img] > svg"));
    var sizes = panels.map(function (panel) { return panel.viewBox.baseVal; }), widest = sizes[0].width;
    var across = Math.min(ACROSS, panels.length);
    var page = { svg: document.createElementNS(NS, "svg"), down: EDGE, width: 2 * EDGE + across * widest + (across - 1) * GAP };
    var paper = made(page.svg, "rect", { width: page.width, fill: "#ffffff" });
    said(figure, "figcaption h3, figcaption strong").forEach(function (text) { paragraph(page, text, 16, { "font-weight": 700, fill: "#1f2933" }); });
    said(figure, "figcaption .note").forEach(function (text) { paragraph(page, text, 10.5, { fill: "#5b6770" }); });
    legend(page, figure);
    page.down += GAP / 2;
    for (var first = 0; first < panels.length; first += across) {
      var tallest = 0;
      panels.slice(first, first + across).forEach(function (panel, column) {
        var size = sizes[first + column], copy = page.svg.appendChild(panel.cloneNode(true));
        copy.setAttribute("x", EDGE + column * (widest + GAP)); copy.setAttribute("y", page.down);
        copy.setAttribute("width", size.width); copy.setAttribute("height", size.height);
        tallest = Math.max(tallest, size.height);
      });
      page.down += tallest + GAP / 2;
    }
    said(figure, ".foot").slice(0, 1).forEach(function (text) { paragraph(page, text, 8.5, { fill: "#5b6770" }); });
    page.height = page.down + EDGE;
    paper.setAttribute("height", page.height);
    page.svg.setAttribute("width", page.width); page.svg.setAttribute("height", page.height);
    page.svg.setAttribute("viewBox", "0 0 " + page.width + " " + page.height);
    page.text = new XMLSerializer().serializeToString(page.svg).replace(/var\(--[a-z]+,\s*(#[0-9a-fA-F]{6})\)/g, "$1");
    return page;
  }
  function save(blob, name) {
    var link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(function () { URL.revokeObjectURL(link.href); }, 10000);
  }
  function asPng(page, name) {
    var image = new Image();
    image.onload = function () {
      var canvas = document.createElement("canvas");
      canvas.width = Math.round(page.width * PIXELS_A_POINT); canvas.height = Math.round(page.height * PIXELS_A_POINT);
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob(function (blob) { save(blob, name); });
    };
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(page.text);
  }
  document.querySelectorAll("figure").forEach(function (figure, place) {
    if (!figure.querySelector("[role=img] > svg")) { return; }
    var name = (figure.id || "picture-" + (place + 1)).replace(/^picture-/, "");
    var line = document.createElement("p");
    line.className = "take";
    line.append("For a slide: ");
    ["SVG", "PNG"].forEach(function (kind) {
      var button = document.createElement("button");
      button.type = "button";
      button.textContent = kind;
      button.setAttribute("aria-label", "Take the picture out as " + kind + ": " + (figure.getAttribute("aria-label") || name));
      button.addEventListener("click", function () {
        var page = drawn(figure), file = name + "." + kind.toLowerCase();
        if (kind === "PNG") { asPng(page, file); } else { save(new Blob([page.text], { type: "image/svg+xml" }), file); }
      });
      line.append(button);
    });
    var last = figure.querySelector(":scope > .foot");
    figure.insertBefore(line, last);
  });
})();
