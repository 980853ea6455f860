// SPDX-License-Identifier: Apache-2.0
// Which view is shown, who looks, dark or light. A view is a function of the place behind its name;
// it fills `main`, and gives back what ends it.
import { el, dialog, replace, say } from "/console/dom.js";
import { get, post, session } from "/console/api.js";
import { overview } from "/console/overview.js";
import { tree } from "/console/tree.js";
import { locks } from "/console/locks.js";
import { configuration, quotas, sessions, watches } from "/console/tables.js";

const views = { overview, tree, locks, sessions, watches, quotas, configuration };
const main = document.getElementById("main");
let current = null; // { name, end }

// "#/tree/a/b" is the view tree at /a/b. Names may have any character: parts are encoded one by one.
export function place() {
  const parts = location.hash.replace(/^#\/?/, "").split("/");
  const name = parts.shift() || "overview";
  let path;
  try {
    path = "/" + parts.map(decodeURIComponent).filter((p) => p !== "").join("/");
  } catch {
    path = "/";
  }
  return { name: views[name] ? name : "overview", path };
}

export function hashOf(name, path) {
  return "#/" + name + (path === undefined ? "" : "/" + path.split("/").filter(Boolean).map(encodeURIComponent).join("/"));
}

export function banner(text) {
  const box = document.getElementById("banner");
  box.textContent = text || "";
  box.hidden = !text;
}

function show() {
  const { name, path } = place();
  if (session.login_needed && !session.user) {
    replace(main, el("h1", { text: "Log in" }), el("p", { class: "quiet", text: "Nothing is shown here before log-in." }));
    return;
  }
  if (current && current.name === name && current.go) {
    current.go(path); // the view stays, and looks at another place
  } else {
    if (current && current.end) current.end();
    replace(main);
    current = { name, ...(views[name](main, path) || {}) };
  }
  for (const link of document.querySelectorAll("#views a")) {
    const is = link.getAttribute("href").split("/")[1] === name;
    if (is) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${name} – Pawl console`;
}

// ---- who looks ----

function showWho() {
  document.getElementById("who").textContent = session.user ? session.user : "read-only";
  document.getElementById("login").textContent = session.user ? "Log out" : "Log in";
}

async function readSession() {
  Object.assign(session, await get("session"));
  showWho();
}

export function logIn() {
  const user = el("input", { id: "user", name: "user", autocomplete: "username", required: true });
  const password = el("input", { id: "password", name: "password", type: "password", autocomplete: "current-password", required: true });
  const node = el("input", { id: "node", name: "node", value: "/", class: "mono" });
  const wrong = el("p", { class: "bad", role: "alert", id: "wrong" });
  const box = dialog("Log in", "narrow", (close) => el("form", {
    onsubmit: async (event) => {
      event.preventDefault();
      wrong.textContent = "";
      try {
        Object.assign(session, await post("login", { user: user.value, password: password.value, node: node.value || "/" }));
        close();
        showWho();
        say("logged in as " + session.user);
        if (current && current.end) current.end();
        current = null;
        show();
      } catch (error) {
        wrong.textContent = error.message;
        password.value = "";
        password.focus();
      }
    },
  },
    el("p", { class: "quiet", text: "With a user and password of the server's ACLs (digest)." }),
    el("label", { for: "user", text: "User" }), user,
    el("label", { for: "password", text: "Password" }), password,
    el("label", { for: "node", text: "A node that lets this user write" }), node,
    wrong,
    el("div", { class: "row end" },
      el("button", { type: "button", class: "plain", text: "Cancel", onclick: close }),
      el("button", { type: "submit", text: "Log in", id: "do-login" }))));
  box.querySelector("#user").focus();
}

async function logOut() {
  await post("logout").catch(() => {});
  session.user = session.csrf = null;
  await readSession();
  if (current && current.end) current.end();
  current = null;
  show();
}

// ---- dark and light ----

function theme(wanted) {
  if (wanted) document.documentElement.setAttribute("data-theme", wanted);
  else document.documentElement.removeAttribute("data-theme");
}

function nextTheme() {
  const order = [null, "dark", "light"];
  const next = order[(order.indexOf(document.documentElement.getAttribute("data-theme")) + 1) % order.length];
  theme(next);
  try {
    if (next) localStorage.setItem("theme", next);
    else localStorage.removeItem("theme");
  } catch { /* it is not kept then */ }
  say(next ? next : "as the system has it");
}

// ---- keys: g and a letter, / for the filter ----

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog")) return;
  if (onKey.waits) {
    onKey.waits = false;
    const found = Object.keys(views).find((name) => name[0] === event.key);
    if (found) location.hash = hashOf(found);
  } else if (event.key === "g") {
    onKey.waits = true;
  } else if (event.key === "/") {
    const filter = main.querySelector("input");
    if (filter) {
      event.preventDefault();
      filter.focus();
    }
  }
}

document.getElementById("login").addEventListener("click", () => (session.user ? logOut() : logIn()));
document.getElementById("theme").addEventListener("click", nextTheme);
document.addEventListener("keydown", onKey);
window.addEventListener("hashchange", show);
try {
  theme(localStorage.getItem("theme"));
} catch { /* none is kept */ }
show();
readSession().then(() => session.login_needed && !session.user && (show(), logIn()), (error) => banner(error.message));
