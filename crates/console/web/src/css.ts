// Styles that follow from values. They are set property by property: as an attribute, the page's policy would refuse them.

import { Directive, directive, PartType, type ElementPart, type PartInfo } from "lit/directive.js";
import { nothing } from "lit";

type Styles = Record<string, string>;

class Css extends Directive {
  private last: Styles = {};

  constructor(part: PartInfo) {
    super(part);
    if (part.type !== PartType.ELEMENT) throw new Error("css() stands in the tag of an element");
  }

  override update(part: ElementPart, [styles]: [Styles]): typeof nothing {
    const style = (part.element as HTMLElement).style;
    for (const [name, value] of Object.entries(styles)) {
      if (this.last[name] !== value) style.setProperty(name, value);
    }
    this.last = styles;
    return nothing;
  }

  render(_: Styles): typeof nothing {
    return nothing;
  }
}

export const css = directive(Css);
