// Refused: errors for requests that failed.

/** A failed request, with the message of the server or report. */
export class Refused extends Error {
  constructor({ message, kind = "", status = 0 }) {
    super(message);
    this.kind = kind;
    this.status = status;
  }
}

/** Something that a report does not contain, with the command that shows it. */
export const notHeld = (what, command = "docmill serve") => new Refused({ message: `${what} \`${command}\` shows it.`, kind: "NotHeld" });
