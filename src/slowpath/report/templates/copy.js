// SPDX-License-Identifier: Apache-2.0
// A button to copy each command, links that open what is folded, folds that are open in print. Every page is complete without it.
(function () {
  "use strict";

  for (const pre of document.querySelectorAll("pre.copy")) {
    const box = document.createElement("div");
    const button = document.createElement("button");
    box.className = "copybox";
    button.type = "button";
    button.textContent = "Copy";
    pre.replaceWith(box);
    box.append(pre, button);
    button.addEventListener("click", () => copy(pre, button));
  }

  function copy(pre, button) {
    const done = () => { button.textContent = "Copied"; setTimeout(() => { button.textContent = "Copy"; }, 1500); };
    const select = () => {
      getSelection().selectAllChildren(pre);
      if (document.execCommand("copy")) done();
    };
    if (navigator.clipboard) navigator.clipboard.writeText(pre.textContent).then(done, select);
    else select();
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
