import { ImageOff } from "lucide-react";
import type { ComponentProps, ReactNode } from "react";
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

export default function MarkdownBody({ source, onLink }: MarkdownProps) {
  const components: Components = {
    a: ({ href, children }) => (
      <a
        href={href}
        onClick={(event) => {
          event.preventDefault();
          if (href) onLink(href);
        }}
      >
        {children}
      </a>
    ),
    img: ({ alt }) => <Image alt={alt} />,
    pre: ({ children }) => <CodeBlock code={textOf(children).replace(/\n$/, "")} />,
    table: ({ children }) => (
      <div className={styles.table}>
        <table>{children}</table>
      </div>
    ),
  };
  return (
    <ReactMarkdown
      remarkPlugins={remarkPlugins}
      rehypePlugins={rehypePlugins}
      components={components}
      // The sanitiser decides on schemes; the library's own filter would drop forge: links first.
      urlTransform={(url) => url}
      skipHtml
    >
      {source}
    </ReactMarkdown>
  );
}
