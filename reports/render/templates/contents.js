// SPDX-License-Identifier: Apache-2.0
// Marks in the contents what is being read, and closes the folded contents once one was chosen.
(function () {
  "use strict";
  var links = Array.prototype.slice.call(document.querySelectorAll(".contents a[href^='#']"));
  var waiting = false;
  function target(link) { return document.getElementById(link.getAttribute("href").slice(1)); }
  function mark() {
    waiting = false;
    var current = "";
    links.forEach(function (link) {
      var found = target(link);
      if (found && found.getBoundingClientRect().top < innerHeight / 3) { current = link.hash; }
    });
    links.forEach(function (link) {
      if (link.hash !== current) { link.removeAttribute("aria-current"); return; }
      if (link.hasAttribute("aria-current")) { return; }
      link.setAttribute("aria-current", "true");
      var list = link.closest("ul");
      list.scrollLeft = link.offsetLeft - list.offsetLeft - list.clientWidth / 3;
    });
  }
  if (!links.length) { return; }
  links.forEach(function (link) {
    link.addEventListener("click", function () {
      var fold = link.closest("details");
      if (fold) { fold.open = false; }
    });
  });
  addEventListener("scroll", function () {
    if (!waiting) { waiting = true; requestAnimationFrame(mark); }
  }, { passive: true });
  mark();
})();
