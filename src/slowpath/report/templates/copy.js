// SPDX-License-Identifier: Apache-2.0
// A button to copy each command and table, columns' names on narrow screens, links that open what is folded, folds that
// are open in print. Every page is complete without it.
(function () {
  "use strict";

  for (const source of document.querySelectorAll("pre.copy, .scroll > table")) {
    const box = document.createElement("div");
    const button = document.createElement("button");
    const holder = source.rows ? source.parentElement : source;
    box.className = "copybox";
    button.type = "button";
    button.textContent = label(source);
    holder.replaceWith(box);
    box.append(holder, button);
    button.addEventListener("click", () => copy(source, button));
  }

  function label(source) { return source.rows ? "Copy table" : "Copy"; }

  // A table as lines with tabs, which a spreadsheet takes as they are.
  function words(source) {
    const cell = (td) => [...td.childNodes].map((node) => node.textContent.trim()).filter(Boolean).join(" ");
    if (!source.rows) return source.textContent;
    return [...source.rows].map((row) => [...row.cells].map(cell).join("\t")).join("\n");
  }

  function copy(source, button) {
    const done = () => { button.textContent = "Copied"; setTimeout(() => { button.textContent = label(source); }, 1500); };
    const select = () => {
      getSelection().selectAllChildren(source);
      if (document.execCommand("copy")) done();
    };
    if (navigator.clipboard) navigator.clipboard.writeText(words(source)).then(done, select);
    else select();
  }

  // On a narrow screen the style shows a table of many columns without its head, each value with its column's name.
  for (const table of document.querySelectorAll(".scroll > table")) {
    const head = table.tHead.rows[0].cells;
    if (head.length < 5) continue;
    table.classList.add("named");
    for (const cell of table.querySelectorAll("tbody :is(th, td)")) cell.dataset.column = head[cell.cellIndex].textContent;
  }

  // A link to something folded opens it.
  function openTarget() {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    let folded = target && (target.closest("details") || target.querySelector(":scope > details"));
    if (!folded) return;
    for (; folded; folded = folded.parentElement.closest("details")) folded.open = true;
    target.scrollIntoView();
  }
  addEventListener("hashchange", openTarget);
  openTarget();

  // A browser that cannot style what is folded prints it open.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const one of opened) one.open = true;
  });
  addEventListener("afterprint", () => { for (const one of opened) one.open = false; });
})();
