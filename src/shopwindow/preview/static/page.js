// A page fetches itself anew whenever a file is saved: what a person types at that moment stays as it is.
// Of anything else that has the focus, such as a heading that folds, the morph would leave out what is new in it.
document.addEventListener("htmx:beforeSwap", () => {
  Idiomorph.defaults.ignoreActiveValue = document.activeElement.matches("input, select, textarea");
});

// What somebody typed before these scripts were there is searched for as well. The listeners of htmx are there by now, for its script comes first.
document.addEventListener("DOMContentLoaded", () => {
  for (const form of document.querySelectorAll("form[hx-trigger^=input]")) {
    const fields = [...form.querySelectorAll("input")];
    if (fields.some(field => field.value !== field.defaultValue)) htmx.trigger(form, "input");
  }
});

// These elements fetch the whole page again, after a change or every second. They ask for the address in the bar, which says what was searched for since.
const renews = element => element.matches("#page, [hx-trigger^=every]");
document.addEventListener("htmx:configRequest", event => {
  if (renews(event.target)) event.detail.path = location.pathname + location.search;
});

// A slow answer may be of a check before the newest, or of an address that the bar has left: then the page is fetched again.
let newest = 0;
document.addEventListener("htmx:sseMessage", event => {
  newest = Math.max(newest, Number(event.detail.data));
});
document.addEventListener("htmx:beforeSwap", event => {
  const request = event.detail.requestConfig;
  if (!renews(request.elt) || request.path === location.pathname + location.search) return;
  event.detail.shouldSwap = false;
  htmx.trigger("#page", "sse:changed");
});
document.addEventListener("htmx:afterSettle", () => {
  const page = document.getElementById("page");
  if (page && Number(page.dataset.check) < newest) htmx.trigger(page, "sse:changed");
});
