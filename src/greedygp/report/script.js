"use strict";
// Titles of marks become a tip that follows the pointer and also shows on touch.
(() => {
  const tip = document.body.appendChild(Object.assign(document.createElement("div"), { id: "tip" }));
  for (const title of document.querySelectorAll("svg title")) {
    title.parentNode.dataset.tip = title.textContent;
    title.remove();
  }
  const show = (event) => {
    const mark = event.target.closest ? event.target.closest("[data-tip]") : null;
    tip.classList.toggle("on", Boolean(mark));
    if (!mark) return;
    tip.textContent = mark.dataset.tip;
    const room = window.innerWidth - tip.offsetWidth - 8;
    tip.style.left = `${Math.max(8, Math.min(event.clientX + 12, room))}px`;
    tip.style.top = `${Math.max(8, event.clientY - tip.offsetHeight - 10)}px`;
  };
  document.addEventListener("pointermove", show);
  document.addEventListener("pointerdown", show);
})();
