// Asks for the token when the application wants one. It goes into a header, never into an address.

import { get, onRefused, setToken } from "./api.js";
import { byId, say } from "./elements.js";

/** `entered` is called when a token was accepted. */
export function start(entered) {
  const dialog = byId("login");
  onRefused(() => {
    if (!dialog.open) dialog.showModal();
  });
  // Without the token there is nothing to see behind it.
  dialog.addEventListener("cancel", (event) => event.preventDefault());
  byId("login-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    setToken(byId("token").value);
    try {
      await get("/v1/state");
    } catch (error) {
      say(byId("login-error"), error.status === 401 ? "That is not the token of this application." : error.message);
      byId("token").select();
      return;
    }
    say(byId("login-error"), "");
    byId("token").value = "";
    dialog.close();
    entered();
  });
}
