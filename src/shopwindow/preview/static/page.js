// A page fetches itself anew whenever a file is saved: what a person types at that moment stays as it is.
// Of anything else that has the focus, such as a heading that folds, the morph would leave out what is new in it.
document.addEventListener("htmx:beforeSwap", () => {
  Idiomorph.defaults.ignoreActiveValue = document.activeElement.matches("input, select, textarea");
});

// What somebody typed before these scripts were there is searched for as well. The listeners of htmx are there by now, for its script comes first. And in the menu of a phone, which is one line, the open page stands in view.
document.addEventListener("DOMContentLoaded", () => {
  for (const form of document.querySelectorAll("form[hx-trigger^=input]")) {
    if ([...form.querySelectorAll("input")].some(field => field.value !== field.defaultValue)) htmx.trigger(form, "input");
  }
  const open = document.querySelector(".menu [aria-current]"); // scrollIntoView would move the place from which Tab goes on
  open?.closest(".menu").scrollTo({left: open.offsetLeft - (innerWidth - open.offsetWidth) / 2});
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
  if (Number(document.getElementById("page")?.dataset.check) < newest) htmx.trigger("#page", "sse:changed");
});
