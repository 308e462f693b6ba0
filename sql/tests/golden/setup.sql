CREATE TABLE t (a int, b int, c text);
INSERT INTO t VALUES (1, 10, 'one'), (2, 20, 'two'), (3, NULL, 'three'), (NULL, 40, 'four'), (5, 50, NULL), (2, 20, 'two'), (7, 10, 'seven');
CREATE TABLE u (a int, d numeric(10,2), e text NOT NULL DEFAULT 'none');
INSERT INTO u VALUES (1, 1.50, 'x'), (2, 2.25, 'y'), (2, NULL, 'z'), (4, 4.00, 'w'), (NULL, 9.99, 'n');
CREATE TABLE emp (id int NOT NULL, name text NOT NULL, dept int, salary int, boss int, hired date);
INSERT INTO emp VALUES
  (1, 'ann', 10, 5000, NULL, '2019-03-01'), (2, 'bob', 10, 4000, 1, '2020-06-15'), (3, 'cat', 20, 4500, 1, '2018-01-31'),
  (4, 'dan', 20, 3000, 3, '2021-12-24'), (5, 'eve', 30, 7000, 1, '2017-07-07'), (6, 'fay', NULL, 2500, 5, '2022-02-28'),
  (7, 'gus', 30, 2500, 5, NULL);
CREATE TABLE dept (id int NOT NULL, name text NOT NULL, budget numeric);
INSERT INTO dept VALUES (10, 'sales', 100000), (20, 'tech', 250000.50), (30, 'ops', NULL), (40, 'void', 0);
CREATE TABLE edge (src int NOT NULL, dst int NOT NULL);
INSERT INTO edge VALUES (1, 2), (2, 3), (3, 4), (2, 5), (6, 7), (7, 6), (8, 8);
CREATE TABLE kinds (b boolean, i2 smallint, i8 bigint, f4 real, f8 double precision, n numeric, s text, v varchar(10), ch char(4),
  d date, ti time, ts timestamp, tz timestamptz, iv interval, u uuid, ia int[], ta text[]);
INSERT INTO kinds VALUES
  (true, 1, 10000000000, 1.5, 2.5, 3.50, 'text', 'var', 'ch', '2020-02-29', '12:34:56', '2020-02-29 12:34:56', '2020-02-29 12:34:56+00', '1 day 02:00:00', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{1,2,3}', '{a,b}'),
  (false, -2, -5, -0.25, 1e10, -7, '', '', '', '1999-12-31', '00:00:00', '1999-12-31 23:59:59', '1999-12-31 23:59:59+00', '-1 month', '00000000-0000-0000-0000-000000000000', '{}', '{NULL,x}'),
  (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
