"""An invented census for the experiment of Xiao and Tao 2006: 5 quasi-identifiers, Income in 50 ranges, guarding nodes.

Made inside DuckDB from a seed; no row enters Python. Correlated roughly as people are: the old have lower education,
the young are unmarried, occupations go with education and sex, income with all of them.
"""

from __future__ import annotations

from typing import Any

import duckdb

DATA_SETS = ("pri_leaf", "pri_mixed", "nonpri_leaf", "nonpri_mixed")

_PEOPLE = """
create or replace table people as
with draws as (select i as id, random() r1, random() r2, random() r3, random() r4, random() r5, random() r6, random() r7
               from range({rows}) t(i)),
aged as (select *, 17 + cast(floor(78 * (0.35 * r1 + 0.65 * r1 * r2)) as int) as age,
                case when r3 < 0.5 then 'male' else 'female' end as gender from draws),
taught as (select *, cast(case when r4 < 0.32 then 9 when r4 < 0.53 then 10 when r4 < 0.68 then 13
     when r4 < 0.76 then 14 when r4 < 0.82 then 11 when r4 < 0.87 then 12 when r4 < 0.91 then 7
     else 1 + floor(17 * r5) end as int) as education from aged),
earning as (select *, 0.16 * education / 17.0 + 0.14 * (1 - abs(age - 48) / 48.0) + 0.04 * (r3 > 0.5)::int
     + 0.68 * pow(r7, 1.6) as score from taught),
ranked as (select *, (row_number() over (order by score, id) - 1) / {rows}.0 as rank from earning)
select id, age, education, gender,
  case when r6 < greatest(0.05, 1.15 - age / 38.0) then 'never married'
       when age > 64 and r6 > 0.72 then 'widowed'
       when r6 > 0.87 then 'divorced' when r6 > 0.84 then 'separated' when r6 > 0.82 then 'spouse absent'
       else 'married' end as marital,
  1 + (cast(floor(50 * pow(r5, 3.4)) as int) + (education // 4) * 9 + case when gender = 'male' then 0 else 23 end) % 50
    as occupation,
  cast(floor(50 * pow(rank, 1.1)) as int) as income,
  random() as g
from ranked
"""

_GUARDS = """
create or replace table {name} as
select id, age, education, gender, marital, 'occupation ' || lpad(occupation::text, 2, '0') as occupation,
  lpad(income::text, 2, '0') as income,
  case when {leaf} then lpad(income::text, 2, '0')
       when g < 0.1 then 'fives ' || lpad((income // 5 * 5)::text, 2, '0')
       when g < 0.4 then null
       else lpad(income::text, 2, '0') end as guard
from {source}
"""

_SEVERAL = """
create or replace table several as
with ranked as (select *, row_number() over (order by g) as place from people),
sampled as (select *, (place - 1) * 3 // {half} as third from ranked where place <= {half}),
copies as (select s.* exclude (income, g), s.third, c.n from sampled s, range(3) c(n)
           where c.n <= case s.third when 0 then 1 when 1 then 2 else 0 end)
select copies.* exclude (third, n), drawn.income as income, random() as g
from (select *, row_number() over () as number from copies) copies
join (select income, row_number() over (order by hash(id)) as number from people) drawn using (number)
"""


def make(path: str, rows: int) -> None:
    """The four data sets as tables of a database file."""
    with duckdb.connect(path) as connection:
        connection.execute("set threads = 1; select setseed(0.20060627)")
        connection.execute(_PEOPLE.format(rows=rows))
        connection.execute(_SEVERAL.format(half=rows // 2))
        for name in DATA_SETS:
            source = "people" if name.startswith("pri") else "several"
            connection.execute(_GUARDS.format(name=name, leaf=str(name.endswith("leaf")).lower(), source=source))


def income_tree() -> dict[str, Any]:
    """50 leaves, then nodes of 5, of 10, and the root (fanouts 5, 2, 5)."""
    fives = {f"fives {five:02}": [f"{leaf:02}" for leaf in range(five, five + 5)] for five in range(0, 50, 5)}
    return {
        f"tens {ten:02}": {name: fives[name] for name in (f"fives {ten:02}", f"fives {ten + 5:02}")}
        for ten in range(0, 50, 10)
    }


def occupation_tree() -> dict[str, Any]:
    """50 occupations in 10 groups of 5 kinds."""
    groups = {
        f"group {group:02}": [f"occupation {leaf:02}" for leaf in range(5 * group + 1, 5 * group + 6)]
        for group in range(10)
    }
    return {
        f"kind {kind}": {name: groups[name] for name in (f"group {2 * kind:02}", f"group {2 * kind + 1:02}")}
        for kind in range(5)
    }


MARITAL = {
    "been married": ["widowed", "divorced", "separated"],
    "married now": ["married", "spouse absent"],
    "unmarried": ["never married"],
}


def spec(
    path: str, data_set: str, algorithm: str, weight: float | str = 1.0, target: str = "release"
) -> dict[str, Any]:
    """The release spec of a data set, for one of the personalized recoders."""
    primary = data_set.startswith("pri")
    return {
        "connection": f"duckdb:///{path}",
        "source": data_set,
        "target": target,
        **({} if primary else {"respondent": "id"}),
        "columns": columns(),
        "privacy": {
            "personalized": {
                "column": "income",
                "guarding": "guard",
                "p_breach": 0.25,
                "primary": primary,
                "weight": weight,
                "taxonomy": {"tree": income_tree()},
            }
        },
        "search": {"algorithm": algorithm},
        "evidence": {"files": False},
    }


def columns() -> dict[str, Any]:
    """The roles of the columns, alike in all data sets."""
    quasi: dict[str, Any] = {"role": "quasi_identifier"}
    return {
        "id": {"role": "identifier"},
        "age": {**quasi, "hierarchy": {"interval": {"widths": [5, 10, 20, 40], "min": 15, "max": 95}}},
        "education": {**quasi, "hierarchy": {"interval": {"widths": [2, 4, 8], "min": 1, "max": 18}}},
        "gender": {**quasi, "hierarchy": {"tree": {"person": ["female", "male"]}}},
        "marital": {**quasi, "hierarchy": {"tree": MARITAL}},
        "occupation": {**quasi, "hierarchy": {"tree": occupation_tree()}},
        "income": {"role": "sensitive"},
        "guard": {"role": "identifier"},
    }
