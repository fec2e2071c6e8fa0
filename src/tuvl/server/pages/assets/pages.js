"use strict";
// Keeps a page up to date: it fetches the page's parts anew and puts in those that differ. Without it a reload does.
(() => {
  const main = document.getElementById("main");
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)");
  const view = document.querySelector(".view");
  const graph = view && view.querySelector("svg");
  const shortest = 500;
  let busy = false;
  let again = false;
  let last = 0;
  let timer = 0;
  let source = null;
  let touched = -Infinity;
  let looking = 0;
  let ticking = 0;
  const contact = document.getElementById("contact");
  const every = Number(main.dataset.every || 5) * 1000;
  let heard = performance.now();
  let ticked = heard;
  let failed = 0;
  let lost = false;
  let thanks = 0;
  const first = document.getElementById("part-head");
  const said = first && first.dataset.say;

  const say = (words) => {
    const announcer = document.getElementById("announcer");
    if (announcer && words && announcer.textContent !== words) announcer.textContent = words;
  };

  const tell = (words, kind) => {
    const line = document.createElement("p");
    line.className = kind;
    line.textContent = words;
    contact.replaceChildren(line);
  };

  // What cannot be sent is not offered; what somebody has written meanwhile stays.
  const freeze = () => {
    for (const each of main.querySelectorAll("#part-controls button")) {
      if (each === document.activeElement) main.focus({ preventScroll: true });
      each.disabled = lost;
    }
    for (const each of main.querySelectorAll("#part-controls summary")) each.setAttribute("aria-disabled", String(lost));
    document.documentElement.classList.toggle("lost", lost);
  };

  // Nobody may take an old state for what is: the page says that it hears nothing, and its clock and picture stand still.
  const lose = () => {
    if (lost || document.hidden) return;
    lost = true;
    clearTimeout(thanks);
    const at = new Date(Date.now() - (performance.now() - heard)).toISOString().slice(11, 19);
    tell(`Nothing has been heard from the server since ${at} UTC. What is shown may be out of date; the page goes on asking.`, "problem");
    const state = document.querySelector("#part-head .pill");
    if (state) state.append(" when last heard");
    document.title = `No contact · ${document.title}`;
    freeze();
  };

  const hear = () => {
    heard = performance.now();
    failed = 0;
    if (!lost) return;
    lost = false;
    freeze();
    tell("The server is heard again.", "told");
    thanks = setTimeout(() => contact.replaceChildren(), 8000);
  };

  const miss = () => {
    failed += 1;
    if (failed > 1) lose();
  };

  // What was said after a form was sent is true for a while only, and not for a reload.
  const dismiss = () => {
    const told = document.querySelector(".told");
    if (told) told.remove();
  };

  const keep = (old) => {
    const filled = new Map();
    for (const each of old.querySelectorAll("textarea[id], input[id]:not([type=hidden])")) filled.set(each.id, each.value);
    const open = new Set([...old.querySelectorAll("details[id][open]")].map((each) => each.id));
    const focused = old.contains(document.activeElement) ? document.activeElement.id : null;
    return () => {
      for (const [id, value] of filled) {
        const field = document.getElementById(id);
        if (field) field.value = value;
      }
      for (const id of open) {
        const box = document.getElementById(id);
        if (box) box.open = true;
      }
      if (focused === null) return;
      const next = focused && document.getElementById(focused);
      (next || main).focus({ preventScroll: true });
    };
  };

  const put = (fresh) => {
    const old = document.getElementById(fresh.id);
    if (!old) return;
    const same = fresh.dataset.key === undefined ? old.innerHTML === fresh.innerHTML : old.dataset.key === fresh.dataset.key;
    for (const name of Object.keys(fresh.dataset)) old.dataset[name] = fresh.dataset[name];
    if (same) return;
    const restore = keep(old);
    old.replaceChildren(...fresh.childNodes);
    restore();
  };

  const mark = () => {
    const table = document.getElementById("part-steps");
    if (!graph || !table) return;
    const states = JSON.parse(table.dataset.states || "{}");
    let moved = null;
    for (const each of graph.querySelectorAll("[data-step]")) {
      const state = states[each.dataset.step] || "";
      if (each.dataset.state === state) continue;
      each.dataset.state = state;
      if (each.classList.contains("card") && (state === "running" || state === "waiting")) moved = each;
    }
    if (moved) show(moved);
    row();
  };

  // The same in the table, which has a place of its own to scroll in.
  const row = () => {
    const pane = document.querySelector(".steps-scroll");
    const now = pane && pane.querySelector("tr.is-running, tr.is-waiting");
    if (!now || performance.now() - touched < 8000) return;
    const away = now.getBoundingClientRect().bottom - pane.getBoundingClientRect().bottom;
    if (away > 0) pane.scrollTop += away + now.offsetHeight;
  };

  // The moving step is brought into sight, unless somebody has just looked elsewhere in the picture.
  const show = (card) => {
    if (performance.now() - touched < 8000) return;
    const box = card.getBoundingClientRect();
    const pane = view.getBoundingClientRect();
    const away = box.top < pane.top || box.bottom > pane.bottom || box.left < pane.left || box.right > pane.right;
    if (!away) return;
    view.scrollTo({
      top: view.scrollTop + box.top - pane.top - (pane.height - box.height) / 2,
      left: view.scrollLeft + box.left - pane.left - (pane.width - box.width) / 2,
      behavior: calm.matches ? "auto" : "smooth",
    });
  };

  const refresh = async () => {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    last = performance.now();
    try {
      const asked = { headers: { Accept: "text/html" }, redirect: "error", signal: AbortSignal.timeout(5000) };
      const answer = await fetch(main.dataset.live, asked);
      if (answer.status === 401 || answer.status === 404) {
        location.reload();
        return;
      }
      if (!answer.ok) {
        miss();
        return;
      }
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      hear();
      for (const part of page.querySelectorAll("[data-part]")) put(part);
      if (page.title) document.title = page.title;
      mark();
      const head = document.getElementById("part-head");
      if (!head) return;
      if (head.dataset.say !== said) dismiss();
      say(head.dataset.say);
      if (head.dataset.going === "no") rest();
      else listen();
    } catch {
      miss();
    } finally {
      busy = false;
      if (again) {
        again = false;
        soon();
      }
    }
  };

  const soon = () => {
    if (timer) return;
    timer = setTimeout(() => {
      timer = 0;
      refresh();
    }, Math.max(0, shortest - (performance.now() - last)));
  };

  const types = [
    "run_started", "run_resumed", "step_started", "model_call_started", "model_call_delayed", "iteration", "tool_call_started", "tool_call", "approval_requested",
    "approval_decided", "heartbeat", "stream_reset", "text_withheld", "supervisor", "suspended", "outcome", "step_finished", "run_finished",
  ];

  const hush = () => {
    if (source) source.close();
    source = null;
  };

  // A hidden page keeps no connection: browsers have few of them for all pages of a server.
  const listen = () => {
    const head = document.getElementById("part-head");
    if (document.hidden || !head || head.dataset.streams !== "yes") return;
    if (source && source.readyState !== EventSource.CLOSED) return;
    source = new EventSource(main.dataset.stream);
    const news = () => {
      hear();
      soon();
    };
    for (const type of ["open", ...types]) source.addEventListener(type, news);
    source.addEventListener("error", soon);
    // A run that waits for a person is told as ended, too; when it goes on there is a stream again.
    source.addEventListener("run_finished", hush);
  };

  const rest = () => {
    hush();
    clearInterval(looking);
    clearInterval(ticking);
  };

  const look = () => {
    if (document.hidden) {
      hush();
      return;
    }
    const head = document.getElementById("part-head");
    const followed = source && source.readyState === EventSource.OPEN && head && head.dataset.held === "yes";
    if (followed && performance.now() - heard < 3000) return;
    refresh();
  };

  const seen = () => {
    // A page that was hidden, or a machine that slept, has not listened.
    heard = performance.now();
    look();
  };

  const span = (seconds) => {
    if (seconds < 59.95) return seconds.toFixed(1) + " s";
    const whole = Math.round(seconds);
    return Math.floor(whole / 60) + " min " + String(whole % 60).padStart(2, "0") + " s";
  };

  const tick = () => {
    const now = performance.now();
    if (now - ticked > 3000) heard = now;
    ticked = now;
    if (now - heard > 4000 + 2 * every) lose();
    if (lost) return;
    for (const each of document.querySelectorAll("[data-since]")) {
      const began = Date.parse(each.dataset.since);
      if (!Number.isNaN(began)) each.textContent = span(Math.max(0, (Date.now() - began) / 1000));
    }
  };

  const zoomable = () => {
    const full = { width: graph.viewBox.baseVal.width, height: graph.viewBox.baseVal.height };
    let scale = 1;
    const zoom = (wanted) => {
      scale = Math.min(3, Math.max(0.1, wanted));
      graph.setAttribute("width", full.width * scale);
      graph.setAttribute("height", full.height * scale);
    };
    const bar = document.querySelector(".zoom");
    bar.hidden = false;
    bar.addEventListener("click", (event) => {
      const what = event.target.dataset.zoom;
      if (!what) return;
      touched = performance.now();
      if (what === "in") zoom(scale * 1.25);
      if (what === "out") zoom(scale / 1.25);
      if (what === "fit") zoom(Math.min(view.clientWidth / full.width, view.clientHeight / full.height));
    });
    for (const pane of [view, document.querySelector(".steps-scroll")]) {
      for (const kind of ["wheel", "pointerdown", "keydown"]) {
        pane.addEventListener(kind, () => { touched = performance.now(); }, { passive: true });
      }
    }
    zoom(Math.min(1, Math.max(0.6, view.clientWidth / full.width)));
    view.scrollLeft = (view.scrollWidth - view.clientWidth) / 2;
    const now = graph.querySelector('.card[data-state="running"], .card[data-state="waiting"]');
    if (now) show(now);
    row();
  };

  if (document.querySelector(".told")) history.replaceState(null, "", location.pathname);
  if (graph) zoomable();
  listen();
  if (main.dataset.live) {
    looking = setInterval(look, every);
    ticking = setInterval(tick, 1000);
    document.addEventListener("visibilitychange", seen);
    for (const change of ["online", "offline"]) window.addEventListener(change, look);
  }
  const box = document.querySelector(".controls");
  if (box) {
    box.addEventListener("click", (event) => {
      const summary = event.target.closest("summary");
      if (lost && summary && !summary.parentElement.open) event.preventDefault();
    });
    box.addEventListener("keydown", (event) => {
      const open = event.key === "Escape" && event.target.closest("details[open]");
      if (!open) return;
      open.open = false;
      open.querySelector("summary").focus();
    });
  }
})();
