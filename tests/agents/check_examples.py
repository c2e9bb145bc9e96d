"""Holds every example of an OpenAPI document against the schema that it is an example of.

usage: check_examples.py URL    URL is the service's address.
"""

import json
import sys
import urllib.request

import jsonschema


def media(document):
    """Every place where a schema and its examples stand side by side, with a name for it."""
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if "requestBody" in operation:
                yield f"{method} {path}, request", operation["requestBody"]["content"]
            for status, response in operation["responses"].items():
                yield f"{method} {path}, {status}", response.get("content", {})
    for name, response in document["components"]["responses"].items():
        yield name, response["content"]


def main(url):
    with urllib.request.urlopen(f"{url}/openapi.json") as answer:
        document = json.load(answer)
    found = []
    for place, contents in media(document):
        for content in contents.values():
            # References start at the root of the document.
            schema = content["schema"] | {"components": document["components"]}
            examples = [example["value"] for example in content.get("examples", {}).values()]
            examples += [content["example"]] if "example" in content else []
            for example in examples:
                jsonschema.validate(example, schema, cls=jsonschema.Draft202012Validator)
            found += [f"{place}: {len(examples)}"] if examples else []
    print("\n".join(found))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1].rstrip("/"))
