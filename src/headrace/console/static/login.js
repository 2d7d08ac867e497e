// Asks who we are when the server wants to know. It goes into a header, never into an address.

import { get, onRefused, setAuthorization } from "./api.js";
import { byId, say } from "./elements.js";

/** `authorization(fields)` makes the header of what was typed; `path` is what shows whether it is accepted; then
 * `entered` is called. */
export function start(path, authorization, entered) {
  const dialog = byId("login");
  const form = byId("login-form");
  onRefused(() => {
    if (!dialog.open) dialog.showModal();
  });
  // Without it there is nothing to see behind the dialog.
  dialog.addEventListener("cancel", (event) => event.preventDefault());
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    setAuthorization(authorization(Object.fromEntries(new FormData(form))));
    try {
      await get(path);
    } catch (error) {
      say(byId("login-error"), error.status === 401 ? form.dataset.refused : error.message);
      form.querySelector("[type=password]").select();
      return;
    }
    say(byId("login-error"), "");
    form.reset();
    dialog.close();
    entered();
  });
}
