// The only script of the pages: buttons that copy, switches that send their form at once, a list that Enter sends, and jobs whose progress moves. Without it a page
// says the same.
(() => {
  const status = document.createElement("p");
  status.className = "status";
  status.setAttribute("role", "status");
  document.body.append(status);
  let clearing;
  const say = (words) => {
    status.textContent = words;
    clearTimeout(clearing);
    clearing = setTimeout(() => { status.textContent = ""; }, 2500);
  };

  // Browsers offer the clipboard only where the connection is secure and they are willing; elsewhere a selection does.
  const select = (text) => {
    const field = document.createElement("textarea");
    field.value = text;
    field.className = "offstage";
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  };
  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      return select(text);
    }
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    copy(button.dataset.copy).then((done) => {
      button.focus();
      say(done ? "Copied" : "Not copied: select it and copy by hand");
    });
  });

  document.addEventListener("change", (event) => {
    const field = event.target.closest("[data-submit]");
    if (field && field.form) field.form.requestSubmit();
  });

  // Shift and Enter begin a new line.
  document.addEventListener("keydown", (event) => {
    const field = event.target.closest("textarea[data-enter]");
    if (!field || event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    field.form.requestSubmit();
  });

  // A part of a page that is live is replaced by what the same page says now, until it is live no more.
  const LIVE_MILLIS = 2000;
  const follow = async () => {
    const old = document.querySelector("[data-live]");
    if (!old) return;
    try {
      const answer = document.hidden ? null : await fetch(location.href);
      if (answer && answer.status < 500) {
        const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(old.id);
        // Signed out, or deleted meanwhile.
        if (!fresh) return;
        const focused = document.activeElement.id;
        old.replaceWith(fresh);
        if (focused) document.getElementById(focused)?.focus();
        if (!("live" in fresh.dataset)) say(fresh.querySelector(".badge").textContent);
      }
    } catch {
      // Out of reach for a moment.
    }
    setTimeout(follow, LIVE_MILLIS);
  };
  setTimeout(follow, LIVE_MILLIS);
})();
