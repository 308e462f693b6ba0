# SPDX-License-Identifier: Apache-2.0
"""TPC-H for the proofs: the demo as the README has it, the tables for PostgreSQL, six queries."""
import os
import threading

DEMO_SOURCE = "CREATE SOURCE tpch FROM LOAD GENERATOR TPCH (SCALE FACTOR {scale}) FOR ALL TABLES;"
TICKING_SOURCE = ("CREATE SOURCE tpch FROM LOAD GENERATOR TPCH (SCALE FACTOR {scale}, TICK INTERVAL '{tick}') "
                  "FOR ALL TABLES{history};")
REVENUE = """CREATE VIEW revenue (supplier_no, total_revenue) AS
  SELECT l_suppkey, sum(l_extendedprice * (1 - l_discount)) FROM lineitem
  WHERE l_shipdate >= DATE '1996-01-01' AND l_shipdate < DATE '1996-01-01' + INTERVAL '3 months'
  GROUP BY l_suppkey;"""
DEMO_VIEW = """CREATE MATERIALIZED VIEW tpch_q15 AS
  SELECT s_suppkey, s_name, s_address, s_phone, total_revenue FROM supplier, revenue
  WHERE s_suppkey = supplier_no AND total_revenue = (SELECT max(total_revenue) FROM revenue);"""
DEMO_INDEX = "CREATE INDEX tpch_q15_idx ON tpch_q15 (s_suppkey);"
DEMO_READ = "SELECT * FROM tpch_q15;"
Q15 = DEMO_VIEW.split(" AS\n", 1)[1].rstrip(";")

TABLES = {
    "region": "r_regionkey bigint, r_name text, r_comment text",
    "nation": "n_nationkey bigint, n_name text, n_regionkey bigint, n_comment text",
    "supplier": "s_suppkey bigint, s_name text, s_address text, s_nationkey bigint, s_phone text, "
                "s_acctbal numeric, s_comment text",
    "part": "p_partkey bigint, p_name text, p_mfgr text, p_brand text, p_type text, p_size int, p_container text, "
            "p_retailprice numeric, p_comment text",
    "partsupp": "ps_partkey bigint, ps_suppkey bigint, ps_availqty int, ps_supplycost numeric, ps_comment text",
    "customer": "c_custkey bigint, c_name text, c_address text, c_nationkey bigint, c_phone text, "
                "c_acctbal numeric, c_mktsegment text, c_comment text",
    "orders": "o_orderkey bigint, o_custkey bigint, o_orderstatus text, o_totalprice numeric, o_orderdate date, "
              "o_orderpriority text, o_clerk text, o_shippriority int, o_comment text",
    "lineitem": "l_orderkey bigint, l_partkey bigint, l_suppkey bigint, l_linenumber int, l_quantity numeric, "
                "l_extendedprice numeric, l_discount numeric, l_tax numeric, l_returnflag text, l_linestatus text, "
                "l_shipdate date, l_commitdate date, l_receiptdate date, l_shipinstruct text, l_shipmode text, "
                "l_comment text",
}

QUERIES = {
    "q1": """SELECT l_returnflag, l_linestatus, sum(l_quantity) AS sum_qty, sum(l_extendedprice) AS sum_base_price,
      sum(l_extendedprice * (1 - l_discount)) AS sum_disc_price,
      sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge, avg(l_quantity) AS avg_qty,
      avg(l_extendedprice) AS avg_price, avg(l_discount) AS avg_disc, count(*) AS count_order
    FROM lineitem WHERE l_shipdate <= DATE '1998-12-01' - INTERVAL '60 days'
    GROUP BY l_returnflag, l_linestatus""",
    "q3": """SELECT l_orderkey, sum(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate, o_shippriority
    FROM customer, orders, lineitem
    WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey
      AND o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15'
    GROUP BY l_orderkey, o_orderdate, o_shippriority""",
    "q4": """SELECT o_orderpriority, count(*) AS order_count FROM orders
    WHERE o_orderdate >= DATE '1993-07-01' AND o_orderdate < DATE '1993-07-01' + INTERVAL '3 months'
      AND EXISTS (SELECT * FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate)
    GROUP BY o_orderpriority""",
    "q13": """SELECT c_count, count(*) AS custdist FROM (
      SELECT c_custkey, count(o_orderkey) c_count FROM customer
      LEFT OUTER JOIN orders ON c_custkey = o_custkey AND o_comment NOT LIKE '%special%requests%'
      GROUP BY c_custkey) AS c_orders
    GROUP BY c_count""",
    "q15": Q15,
    "q18": """SELECT c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity) FROM customer, orders, lineitem
    WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING sum(l_quantity) > 250)
      AND c_custkey = o_custkey AND o_orderkey = l_orderkey
    GROUP BY c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice""",
}


def create_tables(postgres, tables=TABLES):
    for table in tables:
        postgres.run(f"DROP TABLE IF EXISTS {table} CASCADE; CREATE UNLOGGED TABLE {table} ({TABLES[table]})")


def copy_table(source, target, table, as_of=None):
    """Copies one table from one open connection to another, as text."""
    read, write = os.pipe()
    failure = []

    def pump():
        try:
            with os.fdopen(write, "wb") as out, source.cursor() as cursor:
                cursor.copy_expert(f"COPY (SELECT * FROM {table}{f' AS OF {as_of}' if as_of else ''}) TO STDOUT", out)
        except Exception as error:  # told to the caller below
            failure.append(error)

    thread = threading.Thread(target=pump)
    thread.start()
    with os.fdopen(read, "rb") as data, target.cursor() as cursor:
        cursor.copy_expert(f"COPY {table} FROM STDIN", data)
    thread.join()
    if failure:
        raise failure[0]
