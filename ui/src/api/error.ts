/** The one boundary error of the contract, as the page sees it. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly code: string;
  readonly hints: readonly string[];
  readonly details: unknown;

  constructor(fields: {
    code: string;
    message: string;
    hints?: readonly string[];
    details?: unknown;
    cause?: unknown;
  }) {
    super(fields.message, { cause: fields.cause });
    this.code = fields.code;
    this.hints = fields.hints ?? [];
    this.details = fields.details ?? null;
  }

  /**
   * Makes one of whatever a host threw. Only an answer in the contract's shape keeps its code;
   * anything else is a failure of the way there (`transport`).
   */
  static from(thrown: unknown): ApiError {
    if (thrown instanceof ApiError) return thrown;
    if (isWireError(thrown)) {
      return new ApiError({
        code: thrown.code,
        message: thrown.message,
        hints: Array.isArray(thrown.hints) ? thrown.hints.filter(isString) : [],
        details: thrown.details,
        cause: thrown,
      });
    }
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    return new ApiError({ code: "transport", message, cause: thrown });
  }
}

/** What went wrong and what to do, as one paragraph. */
export function errorText({ message, hints }: ApiError): string {
  return [message, ...hints].map((part) => (/[.!?]$/.test(part) ? part : `${part}.`)).join(" ");
}

interface WireError {
  code: string;
  message: string;
  hints?: unknown;
  details?: unknown;
}

const isString = (value: unknown): value is string => typeof value === "string";

function isWireError(value: unknown): value is WireError {
  if (typeof value !== "object" || value === null) return false;
  const { code, message } = value as Partial<WireError>;
  return isString(code) && isString(message);
}
