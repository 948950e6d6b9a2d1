// SPDX-License-Identifier: Apache-2.0
// Measures the boxes of a page: what lies outside its picture or its box, over another text, or
// beyond the page; boxes that scroll downwards; numbers that are split from their unit. Gives {texts, pictures, faults}.
(() => {
  "use strict";
  const TOLERANCE = 1.5, LEAST_PICTURE = 60, faults = [];
  const visible = (element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  const short = (text) => text.trim().replace(/\s+/g, " ").slice(0, 50);
  const scrolls = (style) => /auto|scroll/.test(style.overflowX + style.overflowY);
  const clips = (style) => /hidden|clip/.test(style.overflowX + style.overflowY);
  const QUANTITY = /\d[ \u00a0](?:%|×|±|[µmn]?s|[KMGT]?i?B|[kMGTP]?(?:B|flop)\/s)(?![\w\/])/g;
  const texts = [];
  let pictures = 0;

  // The part of a text that its scrolling ancestors show; a text that an ancestor cuts is a fault.
  function shown(element, box, text) {
    let left = box.left, right = box.right, top = box.top, bottom = box.bottom;
    for (let parent = element; parent && parent !== document.body; parent = parent.parentElement) {
      const style = getComputedStyle(parent);
      if (parent.ownerSVGElement || !(scrolls(style) || clips(style))) { continue; }
      const frame = parent.getBoundingClientRect();
      if (clips(style) && frame.width < 3 && frame.height < 3) { return null; } // for screen readers alone
      if (!scrolls(style) && (right > frame.right + TOLERANCE || bottom > frame.bottom + TOLERANCE
          || left < frame.left - TOLERANCE || top < frame.top - TOLERANCE)) {
        faults.push(["cut by its box", text]);
      }
      left = Math.max(left, frame.left); right = Math.min(right, frame.right);
      top = Math.max(top, frame.top); bottom = Math.min(bottom, frame.bottom);
    }
    return right - left > 1 && bottom - top > 1 ? { left, right, top, bottom } : null;
  }

  function add(element, box, text) {
    const seen = shown(element, box, text);
    if (!seen) { return; }
    if (seen.right > innerWidth + TOLERANCE || seen.left < -TOLERANCE) { faults.push(["beyond the page", text]); }
    const height = seen.bottom - seen.top;
    // Ascent and descent of a line reach into its neighbours; its letters do not.
    texts.push({ left: seen.left + 1, right: seen.right - 1, top: seen.top + 0.24 * height, bottom: seen.bottom - 0.24 * height, text });
  }

  document.querySelectorAll("svg").forEach((svg) => {
    if (!visible(svg)) { return; }
    const frame = svg.getBoundingClientRect();
    if (frame.width < LEAST_PICTURE) { return; } // a sign of a legend
    pictures += 1;
    if (frame.right > innerWidth + TOLERANCE || frame.left < -TOLERANCE) { faults.push(["picture beyond the page", ""]); }
    svg.querySelectorAll("text").forEach((element) => {
      const box = element.getBoundingClientRect(), text = short(element.textContent);
      if (!text || box.width < 1) { return; }
      if (box.left < frame.left - TOLERANCE || box.right > frame.right + TOLERANCE
          || box.top < frame.top - TOLERANCE || box.bottom > frame.bottom + TOLERANCE) {
        faults.push(["outside its picture", text]);
      }
      add(element, box, text);
    });
  });

  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || element.closest("svg, script, style, template, .skip") || !visible(element)) { continue; }
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      if (box.width > 1 && box.height > 1) { add(element, box, short(node.data)); }
    }
    for (const found of element.closest("code, pre") ? [] : node.data.matchAll(QUANTITY)) {
      range.setStart(node, found.index);
      range.setEnd(node, found.index + found[0].length);
      if (range.getBoundingClientRect().height > 1.6 * parseFloat(getComputedStyle(element).lineHeight)) {
        faults.push(["a number is split from its unit", short(node.data.slice(Math.max(0, found.index - 12)))]);
      }
    }
    const style = getComputedStyle(element);
    if (style.textOverflow === "ellipsis" && element.scrollWidth > element.clientWidth) { faults.push(["shortened", short(node.data)]); }
  }

  texts.sort((a, b) => a.top - b.top);
  let open = [];
  for (const one of texts) {
    open = open.filter((other) => other.bottom > one.top);
    for (const other of open) {
      const across = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const down = Math.min(one.bottom, other.bottom) - one.top;
      if (across > 1 && down > 1) { faults.push(["over another text", `${one.text} | ${other.text}`]); }
    }
    open.push(one);
  }
  if (document.documentElement.scrollWidth > innerWidth + 1) { faults.push(["the page scrolls sideways", `${document.documentElement.scrollWidth} px`]); }
  document.querySelectorAll("main *").forEach((box) => {
    if (visible(box) && /auto|scroll/.test(getComputedStyle(box).overflowY) && box.scrollHeight > box.clientHeight + 1) {
      faults.push(["rows are hidden", short(box.textContent)]);
    }
  });
  // On a wide page no table needs to be scrolled sideways.
  if (innerWidth >= 1280) {
    document.querySelectorAll("table").forEach((table) => {
      const frame = table.parentElement;
      const name = short(table.tHead ? table.tHead.textContent : table.textContent);
      if (visible(table) && frame.scrollWidth > frame.clientWidth + 1) { faults.push(["columns are hidden", name]); }
      // Browsers differ in whether a head sticks to a box that scrolls or to the page.
      if (scrolls(getComputedStyle(frame)) || clips(getComputedStyle(frame))) { faults.push(["a table has a box that scrolls", name]); }
    });
  }
  return { texts: texts.length, pictures, faults };
})()
