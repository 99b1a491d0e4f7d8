// Refused: a question that got no answer.

/** A request that failed, in the words of the server or of the report. */
export class Refused extends Error {
  constructor({ message, kind = "", status = 0 }) {
    super(message);
    this.kind = kind;
    this.status = status;
  }
}

/** What a report does not hold, and the command that shows it. */
export const notHeld = (what, command = "docmill serve") => new Refused({ message: `${what} \`${command}\` shows it.`, kind: "NotHeld" });
