// What a page does more than a plain one: keys, sliders that follow at once, the live activity. All of it works without.
"use strict";
(() => {
  const one = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const writes = (target) => target.closest && target.closest("input:not([type=range]), textarea, select, [contenteditable]");

  // The project of the pages: chosen, gone to.
  all("select[data-go]").forEach((select) => select.addEventListener("change", () => select.form.submit()));
  all("[data-only-without]").forEach((element) => { element.hidden = true; });
  all("[data-only-with]").forEach((element) => { element.hidden = false; });

  // Keys: / to search, arrows among results, and one key for each decision.
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const search = one("#search");
    if (event.key === "Escape" && document.activeElement === search) { search.blur(); return; }
    if (event.key === "/" && !writes(event.target)) { event.preventDefault(); search.focus(); search.select(); return; }
    const links = all("[data-result]").filter((link) => link.checkVisibility());
    if ((event.key === "ArrowDown" || event.key === "ArrowUp") && links.length && (!writes(event.target) || event.target === search)) {
      const place = links.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
      event.preventDefault();
      if (place < 0) search.focus(); else links[Math.min(place, links.length - 1)].focus();
      return;
    }
    if (writes(event.target)) return;
    const button = one(`button[data-key="${CSS.escape(event.key.toLowerCase())}"]`);
    if (button && event.target.tagName !== "BUTTON") { event.preventDefault(); button.click(); }
  });
  document.addEventListener("submit", (event) => {
    if (event.target.dataset.sent) { event.preventDefault(); return; }
    if (event.target.method === "post") event.target.dataset.sent = "yes";
  });
  window.addEventListener("pageshow", () => all("form[data-sent]").forEach((form) => { delete form.dataset.sent; }));

  // Sliders: the page of the chosen time takes the place of the part that depends on it.
  const sliders = one("form[data-sliders]");
  if (sliders) {
    const ranges = all("input[type=range]", sliders);
    const fine = sliders.dataset.fine === "yes";
    const shown = (value) => new Date(value * 1000).toISOString().slice(0, fine ? 16 : 10).replace("T", " ");
    const show = () => ranges.forEach((range) => {
      one(`output[for="${range.id}"]`).textContent = Number(range.value) >= Number(range.max) ? "now" : shown(range.value);
    });
    let asked = 0, waiting = null, playing = null;
    const address = () => {
      const url = new URL(sliders.action, location.href);
      new FormData(sliders).forEach((value, name) => url.searchParams.set(name, value));
      ranges.forEach((range) => { if (Number(range.value) >= Number(range.max)) url.searchParams.delete(range.name); });
      return url;
    };
    const load = async () => {
      const mine = ++asked, url = address();
      const answer = await fetch(url, { headers: { accept: "text/html" } });
      if (!answer.ok || mine !== asked) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      all("[data-follows]").forEach((part) => {
        const next = one(`#${part.id}`, page);
        if (next) part.replaceChildren(...next.childNodes);
      });
      history.replaceState(null, "", url);
    };
    const changed = () => { show(); clearTimeout(waiting); waiting = setTimeout(load, 90); };
    ranges.forEach((range) => range.addEventListener("input", () => { if (playing && range === ranges[0]) stop(); changed(); }));
    const button = one("button[data-play]", sliders);
    const stop = () => { clearInterval(playing); playing = null; button.textContent = "Play"; };
    button.addEventListener("click", () => {
      if (playing) { stop(); return; }
      const range = ranges[0], low = Number(range.min), high = Number(range.max);
      if (Number(range.value) >= high) range.value = low;
      button.textContent = "Stop";
      playing = setInterval(() => {
        const next = Math.min(high, Number(range.value) + (high - low) / 40);
        range.value = next;
        changed();
        if (next >= high) stop();
      }, 350);
    });
  }

  // A report that is being made: look again until it is there. Not while a notice is shown: it may offer to undo.
  if (one("[data-reload]") && !one(".notice[role=status]")) setTimeout(() => location.reload(), 1500);

  // The activity, live.
  const stream = one("[data-live]");
  if (stream) {
    const source = new EventSource(stream.dataset.live);
    const state = one("[data-live-state]");
    source.onopen = () => { state.textContent = "live"; };
    source.onerror = () => { state.textContent = "not live"; };
    source.onmessage = (event) => {
      stream.insertAdjacentHTML("afterbegin", JSON.parse(event.data));
      stream.firstElementChild.classList.add("fresh");
      while (stream.children.length > 200) stream.lastElementChild.remove();
    };
    window.addEventListener("pagehide", () => source.close());
  }
})();
