"""The content folder of the examples: one collection, of notices."""

from collections.abc import Mapping

SITE_PATH = "site.yaml"
COLLECTIONS_PATH = "collections.yaml"
NOTICE_SCHEMA_PATH = "schemas/notice.json"
NOTICE_FILE = "notices/spring.yaml"
LATE_NOTICE = "notices/late.yaml"
"""Files that examples are parts of, beside those of the folder."""

FOLDER_OF_EXAMPLES: Mapping[str, str] = {
    "site.yaml": """\
base_url: https://api.shop.example
order_base_url: https://orders.shop.example
time_zone: America/New_York
lifetimes:
  default: {maxAge: 300}
names:
  brand: Your Shop
""",
    "collections.yaml": """\
notice:
  folder: notices
  schema: notice.json
  id: noticeId
  path: v1/notices
  filters: [tone]
""",
    "schemas/notice.json": """\
{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "noticeId": {"type": "integer"},
    "title": {"type": "string", "minLength": 1, "maxLength": 40},
    "day": {"type": "string", "format": "date"},
    "tone": {"type": "string", "enum": ["calm", "urgent"]},
    "draft": {"type": "boolean", "const": false},
    "width": {
      "type": "integer",
      "exclusiveMinimum": 0,
      "exclusiveMaximum": 100,
      "multipleOf": 10
    },
    "screens": {
      "type": "array",
      "items": {"type": "string"},
      "minItems": 1,
      "maxItems": 3,
      "uniqueItems": true
    },
    "languages": {
      "type": "array",
      "items": {"type": "string"},
      "minItems": 1,
      "contains": {"const": "en"}
    },
    "colors": {
      "type": "array",
      "items": {"type": "string"},
      "minItems": 1,
      "contains": {"pattern": "^dark "},
      "minContains": 2,
      "maxContains": 3
    },
    "texts": {
      "type": "object",
      "additionalProperties": {"type": "string"},
      "minProperties": 1,
      "maxProperties": 2
    },
    "flags": {
      "type": "object",
      "properties": {"accessible": {"type": "boolean"}},
      "additionalProperties": {"type": "boolean"}
    },
    "icon": {"type": "string", "not": {"const": "none"}},
    "place": {
      "type": "string",
      "oneOf": [{"const": "hall"}, {"pattern": "^room [0-9]+$"}]
    },
    "contact": {
      "type": "string",
      "anyOf": [{"pattern": "@"}, {"pattern": "^[0-9-]+$"}]
    },
    "link": {"type": "string"},
    "linkText": {"type": "string"}
  },
  "required": ["noticeId", "title"],
  "dependentRequired": {"link": ["linkText"]},
  "additionalProperties": false
}
""",
    "notices/spring.yaml": """\
noticeId: 1
title: Spring opening
day: 2027-05-01
tone: calm
publish:
  until: 2027-05-02
""",
}
"""The files of a content folder that has one collection, of notices. The engine knows no
kind of document, and any interface admits a collection.
"""
