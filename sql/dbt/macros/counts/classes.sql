{#
  What every count starts and ends with: the relation by its keys, and one row of figures.
  Figures are counts of rows, classes and values. No query of this package returns a value of the data.
#}

{#- The class columns as `class_1`, `class_2`, ... and further keys by alias; reads each row once. -#}
{% macro keyed_rows(relation, class_columns, further, purpose) -%}
    {%- set columns = sqlanon.columns_of(relation) %}
    {%- set items = [] %}
    {%- for name in class_columns %}
        {%- do items.append(sqlanon.key_of(columns, name, purpose) ~ ' as class_' ~ loop.index) %}
    {%- endfor %}
    {%- for alias, name in further.items() %}
        {%- do items.append(sqlanon.key_of(columns, name, purpose) ~ ' as ' ~ alias) %}
    {%- endfor -%}
    select {{ items | join(', ') }}
        from {{ relation }}
{%- endmacro %}


{% macro class_list(class_columns) -%}
    {%- for name in class_columns -%}
        class_{{ loop.index }}{{ ', ' if not loop.last }}
    {%- endfor -%}
{%- endmacro %}


{#- One row of figures over `judged`, which has a row per class: its rows `n`, and 1 in `fails` if it fails. -#}
{% macro figures(uncovered='0') -%}
    {%- set count_type = dbt.type_bigint() %}
    select
        cast(coalesce(sum(n), 0) as {{ count_type }}) as released_rows,
        cast(count(*) as {{ count_type }}) as classes,
        cast(coalesce(sum(fails), 0) as {{ count_type }}) as failing_classes,
        cast(coalesce(sum(n * fails), 0) as {{ count_type }}) as rows_at_risk,
        cast({{ uncovered }} as {{ count_type }}) as uncovered_values
    from judged
{%- endmacro %}


{#- The figures as a test wants them: one row if anything is wrong. A table without rows is not safe, it is wrong. -#}
{% macro violations(counts) -%}
    select *
    from (
        select
            measured.*,
            failing_classes + uncovered_values + case when classes = 0 then 1 else 0 end as violations
        from (
            {{ counts }}
        ) as measured
    ) as audited
    where violations > 0
{%- endmacro %}
