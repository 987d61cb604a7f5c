/** The sample host's pictures: one that changed, one too large, one in LFS, a drawing and data. */
import type { FilePreview, ReadPreview } from "#ui/api/generated.ts";

const logo = {
  old: "iVBORw0KGgoAAAANSUhEUgAAAPAAAAB4CAMAAAD7aI8VAAAABGdBTUEAALGPC/xhBQAAACBjSFJNAAB6JgAAgIQAAPoAAACA6AAAdTAAAOpgAAA6mAAAF3CculE8AAAACVBMVEX///87bvUSoVBEg9rIAAAAAXRSTlMAQObYZgAAAAFiS0dEAIgFHUgAAAAHdElNRQfqCxYIHx3Z5pjpAAABPElEQVR42u3bOQLDIAwFUZP7HzpVStsRaEH8mRPotSBdFxERERERERERkUjjV/UgmdYhoB73VY+WzD2RPN6rHjGZexL5T+4pZAP3CLLR215s9jYXT3hbi6e8jcWT3rbiaW9T8YK3pXjJ21C86G0nXvZ2E6uBHby9xDngT0R13jdxCHeO7OR9BIdxZ8he4AdxqNcsjgcHe41iN++9WA0c7jWJHb13YjVwgtciVgO7evXAAzBgwLlgZ68eeAAGDBgwYMCAAWeJL8CAAQMG7AmWe7UE7A/e7OdB7m9J7/dQ7n+YDYAA8F47HnJbPJ33tGa0aeCdUvPqgeX2pfU24vVuHvSuWvTulvQu0/RuD/WuS/Xuh/UuxG3k6lGTydVjZourh8w1V4+XTK4eLddcPVQiu3oQIiIiIiIiIiJS6wuZuTNl+quyuAAAACV0RVh0ZGF0ZTpjcmVhdGUAMjAyNi0xMS0yMlQwODozMToyOSswMDowMGTqrjQAAAAldEVYdGRhdGU6bW9kaWZ5ADIwMjYtMTEtMjJUMDg6MzE6MjkrMDA6MDAVtxaIAAAAAElFTkSuQmCC",
  new: "iVBORw0KGgoAAAANSUhEUgAAAPAAAAB4CAMAAAD7aI8VAAAABGdBTUEAALGPC/xhBQAAACBjSFJNAAB6JgAAgIQAAPoAAACA6AAAdTAAAOpgAAA6mAAAF3CculE8AAAACVBMVEX///96O/X1ngt4viffAAAAAXRSTlMAQObYZgAAAAFiS0dEAIgFHUgAAAAHdElNRQfqCxYIHx5A78lTAAABQ0lEQVR42u3bOwLDIAwEUcj9D50qJUZ8ssLszAGwXmtEKURERERERERERCbVX9mDKK3VQF3bZY8m5t5Irv2yRxRzbyIHubeQB7hXkAe9rxcPe18unvAOiD//TeWNiv/MnSBPcmNiAXeYPA/ui0XeIfGCtyuWeQfES96eWAiOihe9z2KlNwhe9j6K3cBSb0y8wfsgBpwO3uJti48Db/I2xYABa8HbvC0x4FzwRm9DDBiwErzV6weugAED1oI3e/3AFTBgwIABAwYMWCUugAEDBvwicDkfbPfXEvD1YLu7JT+w3f0w4OvBdls8fntafmC7XUu/bVq7fel7NuKjXr83D36vWhbEgbNP9Nq9TJsVh08/jjsnnvrOObl5/V6Ij5GzRxWTs8cUi7NnFJuzxxOTs0fTorNnEqqzByEiIiIiIiIiIre+3hRH9AsTTIwAAAAldEVYdGRhdGU6Y3JlYXRlADIwMjYtMTEtMjJUMDg6MzE6MzArMDA6MDA92Ot5AAAAJXRFWHRkYXRlOm1vZGlmeQAyMDI2LTExLTIyVDA4OjMxOjMwKzAwOjAwTIVTxQAAAABJRU5ErkJggg==",
} as const;

const drawing = (colour: string) =>
  btoa(
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" width="96" height="96"><path d="M12 2l9 18H3z" fill="${colour}"/></svg>`,
  );

export function samplePreview(change: Partial<FilePreview> = {}): FilePreview {
  return {
    kind: "image",
    size: 604,
    max_size: 10_000_000,
    media_type: "image/png",
    width: 240,
    height: 120,
    data: logo.new,
    ...change,
  };
}

const bare = (kind: FilePreview["kind"], size: number | null): FilePreview =>
  samplePreview({ kind, size, media_type: null, width: null, height: null, data: null });

export function previewOf({ path, side }: ReadPreview): FilePreview {
  switch (path) {
    case "assets/logo.png":
      return samplePreview({ data: logo[side], size: side === "old" ? 597 : 604 });
    case "assets/hero.png":
      return side === "old" ? bare("lfs_pointer", 2_310_000) : bare("too_large", 24_800_000);
    case "assets/mark.svg":
      return samplePreview({
        media_type: "image/svg+xml",
        size: side === "old" ? 148 : 151,
        width: null,
        height: null,
        data: drawing(side === "old" ? "#64748b" : "#0f766e"),
      });
    default:
      return bare("other", 4_655);
  }
}
