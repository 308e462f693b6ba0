#!/usr/bin/env python3
"""Prints adapter/src/pg_catalog_shapes.cc from the catalog of a running PostgreSQL 15.

    tools/pg_catalog_shapes.py "host=127.0.0.1 port=5432 user=postgres" > adapter/src/pg_catalog_shapes.cc

Names, OIDs, column names and types of the system relations are facts; clients ask for them by name.
Types that Freshet does not have become the nearest one that it has.
"""
import subprocess
import sys

QUERY = r"""
select n.nspname, c.relname, c.oid::int, c.relkind, a.attname,
  case t.typname when 'int2vector' then '_int2' when 'oidvector' then '_oid' when '_aclitem' then '_text'
    when 'cardinal_number' then 'int4' when 'character_data' then 'varchar' when 'sql_identifier' then 'name'
    when 'time_stamp' then 'timestamptz' when 'yes_or_no' then 'varchar' when 'regnamespace' then 'oid'
    when '_regtype' then '_oid'
    when 'pg_node_tree' then 'text' when 'anyarray' then 'text' when 'xid' then 'text' when 'pg_lsn' then 'text'
    when 'inet' then 'text' when 'pg_ndistinct' then 'text' when 'pg_dependencies' then 'text'
    when 'pg_mcv_list' then 'text' when '_pg_statistic' then 'text' when 'tid' then 'text' when 'xid8' then 'text'
    else t.typname end,
  a.attnotnull
from pg_class c join pg_namespace n on n.oid = c.relnamespace
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 join pg_type t on t.oid = a.atttypid
where n.nspname in ('pg_catalog', 'information_schema') and c.relkind in ('r', 'v') and c.relname !~ '^_pg'
  and c.relname !~ '^pg_stat_(progress|bgwriter|ssl|gss|wal|slru|archiver|subscription|replication|recovery|xact|sys)|^pg_statio|sql_(impl|parts|sizing|features)'
order by 1, 2, a.attnum
"""


def main() -> None:
    out = subprocess.run(["psql", sys.argv[1], "-At", "-F", " ", "-c", QUERY], check=True, capture_output=True, text=True)
    relations: dict[tuple[str, str, str], list[str]] = {}
    for line in out.stdout.splitlines():
        schema, name, oid, _kind, column, type_name, not_null = line.split(" ")
        relations.setdefault((schema, name, oid), []).append(f"{column} {type_name}{'!' if not_null == 't' else ''}")
    print("// SPDX-License-Identifier: Apache-2.0")
    print("// Printed by tools/pg_catalog_shapes.py from PostgreSQL 15; do not edit.")
    print('#include "pg_catalog_shapes.h"\n\nnamespace freshet::adapter {\n')
    print("const std::vector<SystemShape>& pg_catalog_shapes() {")
    print("  static const std::vector<SystemShape> kShapes{")
    for (schema, name, oid), columns in relations.items():
        print(f'      {{"{schema}", "{name}", {oid},')
        text = ", ".join(columns)
        while text:
            cut = text if len(text) <= 84 else text[: text.rindex(",", 0, 84) + 2]
            text = text[len(cut):]
            print(f'       "{cut}"' + ("" if text else "},"))
    print("  };\n  return kShapes;\n}\n\n}  // namespace freshet::adapter")


main()
