// SPDX-License-Identifier: Apache-2.0
// The API behind the page: docs/console.md.

export const session = { user: null, csrf: null, servers: "" };

export class ApiError extends Error {
  constructor(status, body) {
    super(body.error || "status " + status);
    this.status = status;
    this.code = body.code;
    this.outcome = body.outcome;
  }
}

async function call(method, name, args, body, signal) {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(args || {})) {
    if (value !== undefined && value !== null && value !== "") query.set(key, value);
  }
  const headers = {};
  if (method !== "GET" && session.csrf) headers["X-Pawl-Csrf"] = session.csrf;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const answer = await fetch("/api/v1/" + name + (query.size ? "?" + query : ""), {
    method, headers, signal, cache: "no-store", credentials: "same-origin",
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const json = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new ApiError(answer.status, json);
  return json;
}

export const get = (name, args, signal) => call("GET", name, args, undefined, signal);
export const post = (name, body) => call("POST", name, {}, body);
export const put = (name, body) => call("PUT", name, {}, body);
export const remove = (name, args) => call("DELETE", name, args);

export function fromBase64(text) {
  const raw = atob(text);
  const data = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) data[i] = raw.charCodeAt(i);
  return data;
}

export function toBase64(data) {
  let raw = "";
  for (let i = 0; i < data.length; i += 8192) raw += String.fromCharCode(...data.subarray(i, i + 8192));
  return btoa(raw);
}
