"use strict";
(() => {
  const root = document.documentElement;
  const view = document.querySelector(".view");
  const graph = document.getElementById("graph");
  const aside = document.querySelector("aside");
  const full = { width: graph.viewBox.baseVal.width, height: graph.viewBox.baseVal.height };
  const smallest = 0.04;
  const largest = 4;
  let scale = 1;
  let shown = null;

  root.classList.add("js");
  document.querySelector(".bar-of-tools").hidden = false;

  const zoom = (wanted, x, y) => {
    const next = Math.min(largest, Math.max(smallest, wanted));
    const box = view.getBoundingClientRect();
    const left = x === undefined ? box.width / 2 : x - box.left;
    const top = y === undefined ? box.height / 2 : y - box.top;
    const ratio = next / scale;
    const from = { x: view.scrollLeft + left, y: view.scrollTop + top };
    scale = next;
    graph.setAttribute("width", full.width * scale);
    graph.setAttribute("height", full.height * scale);
    view.scrollLeft = from.x * ratio - left;
    view.scrollTop = from.y * ratio - top;
  };

  const fit = () => zoom(Math.min(1.25, view.clientWidth / full.width, view.clientHeight / full.height));

  const choose = (number, move) => {
    const article = document.getElementById("step-" + number);
    if (!article) return;
    if (shown) {
      shown.article.classList.remove("on");
      if (shown.card) shown.card.classList.remove("on");
    }
    shown = { article, card: document.getElementById("card-" + number) };
    article.classList.add("on");
    aside.classList.add("chosen");
    aside.scrollTop = 0;
    if (shown.card) {
      shown.card.classList.add("on");
      if (move) shown.card.scrollIntoView({ block: "center", inline: "center" });
    }
  };

  const follow = () => {
    const found = /^#step-(\d+)$/.exec(location.hash);
    if (!found) return;
    choose(found[1], true);
    window.scrollTo(0, 0);
  };

  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#step-"]');
    if (!link) return;
    event.preventDefault();
    const inside = graph.contains(link) && !link.querySelector(".stub");
    history.replaceState(null, "", link.getAttribute("href"));
    choose(link.getAttribute("href").slice("#step-".length), !inside);
    if (!graph.contains(link) && !aside.contains(link)) shown.article.focus();
  });
  window.addEventListener("hashchange", follow);

  document.querySelector(".bar-of-tools").addEventListener("click", (event) => {
    const what = event.target.dataset.do;
    if (what === "in") zoom(scale * 1.25);
    if (what === "out") zoom(scale / 1.25);
    if (what === "fit") fit();
    if (what === "full") zoom(1);
  });
  view.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(scale * Math.exp(-event.deltaY / 400), event.clientX, event.clientY);
  }, { passive: false });
  view.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "+" || event.key === "=") zoom(scale * 1.25);
    if (event.key === "-") zoom(scale / 1.25);
    if (event.key === "0") fit();
  });

  let hold = null;
  view.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.pointerType === "touch") return;
    hold = { x: event.clientX, y: event.clientY, left: view.scrollLeft, top: view.scrollTop, moved: false };
  });
  window.addEventListener("pointermove", (event) => {
    if (!hold) return;
    const x = event.clientX - hold.x;
    const y = event.clientY - hold.y;
    if (!hold.moved && Math.hypot(x, y) < 5) return;
    hold.moved = true;
    view.classList.add("moving");
    view.scrollLeft = hold.left - x;
    view.scrollTop = hold.top - y;
  });
  window.addEventListener("pointerup", () => {
    if (hold && hold.moved) {
      const stop = (event) => { event.stopPropagation(); event.preventDefault(); };
      window.addEventListener("click", stop, { capture: true, once: true });
      setTimeout(() => window.removeEventListener("click", stop, true), 0);
    }
    hold = null;
    view.classList.remove("moving");
  });
  view.addEventListener("dragstart", (event) => event.preventDefault());

  if (full.width > view.clientWidth) zoom(Math.max(0.55, view.clientWidth / full.width));
  view.scrollLeft = (graph.clientWidth - view.clientWidth) / 2;
  view.scrollTop = 0;
  choose("1", false);
  follow();
})();
