import { ImageOff } from "lucide-react";
import { createContext, use, type ComponentProps, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import ReactMarkdown, { type Components } from "react-markdown";
import rehypeSanitize, { defaultSchema } from "rehype-sanitize";
import remarkGfm from "remark-gfm";
import { CodeBlock } from "./CodeBlock.tsx";
import type { MarkdownProps } from "./Markdown.tsx";
import styles from "./Markdown.module.css";

const schema = {
  ...defaultSchema,
  protocols: { ...defaultSchema.protocols, href: ["http", "https", "mailto", "forge"] },
};
const remarkPlugins = [remarkGfm];
const rehypePlugins: ComponentProps<typeof ReactMarkdown>["rehypePlugins"] = [
  [rehypeSanitize, schema],
];

function textOf(node: ReactNode): string {
  if (typeof node === "string" || typeof node === "number") return String(node);
  if (Array.isArray(node)) return node.map(textOf).join("");
  if (node && typeof node === "object" && "props" in node) {
    return textOf((node.props as { children?: ReactNode }).children);
  }
  return "";
}

function Image({ alt }: { alt?: string | undefined }) {
  const { t } = useTranslation();
  return (
    <span className={styles.image}>
      <ImageOff aria-hidden />
      {alt || t("markdown.image")}
    </span>
  );
}

const LinkContext = createContext<(href: string) => void>(() => {});

function Link({ href, children }: { href?: string | undefined; children?: ReactNode }) {
  const onLink = use(LinkContext);
  return (
    <a
      href={href}
      onClick={(event) => {
        event.preventDefault();
        if (href) onLink(href);
      }}
    >
      {children}
    </a>
  );
}

// Only task lists have inputs; the sanitiser lets no other through. Nothing else names their boxes.
function TaskBox({ checked }: { checked?: boolean | undefined }) {
  const { t } = useTranslation();
  const label = checked ? t("markdown.taskDone") : t("markdown.taskOpen");
  return <input type="checkbox" disabled checked={checked ?? false} readOnly aria-label={label} />;
}

function Block({ children }: { children?: ReactNode }) {
  return <CodeBlock code={textOf(children).replace(/\n$/, "")} />;
}

function ScrollingTable({ children }: { children?: ReactNode }) {
  return (
    <div className={styles.table}>
      <table>{children}</table>
    </div>
  );
}

const components: Components = {
  a: Link,
  img: Image,
  input: TaskBox,
  pre: Block,
  table: ScrollingTable,
};

// The sanitiser decides on schemes; the library's own filter would drop forge: links first.
const keepUrl = (url: string) => url;

export default function MarkdownBody({ source, onLink }: MarkdownProps) {
  return (
    <LinkContext value={onLink}>
      <ReactMarkdown
        remarkPlugins={remarkPlugins}
        rehypePlugins={rehypePlugins}
        components={components}
        urlTransform={keepUrl}
        skipHtml
      >
        {source}
      </ReactMarkdown>
    </LinkContext>
  );
}
