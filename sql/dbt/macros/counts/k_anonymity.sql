{#
  k-anonymity: every class has at least k rows, or at least k respondents.
#}

{% macro k_anonymity_counts(relation, columns, k, respondent=none) -%}
    {{ return(adapter.dispatch('k_anonymity_counts', 'sqlanon')(relation, columns, k, respondent)) }}
{%- endmacro %}

{#- Rows without a respondent all count as one person. -#}
{% macro default__k_anonymity_counts(relation, columns, k, respondent=none) -%}
    {%- set purpose = 'k_anonymity' %}
    {%- set names = sqlanon.names(columns, purpose ~ ' columns') %}
    {%- set least = sqlanon.whole_number(k, 1, purpose ~ ' k') %}
    {%- set further = {} if respondent is none else {'respondent': respondent} %}
    {%- set nobody = 'max(case when respondent is null then 1 else 0 end)' %}
    {%- set size = 'count(*)' if respondent is none else 'count(distinct respondent) + ' ~ nobody %}
    with keyed as (
        {{ sqlanon.keyed_rows(relation, names, further, purpose) }}
    ),
    classes as (
        select count(*) as n, {{ size }} as size
        from keyed
        group by {{ sqlanon.class_list(names) }}
    ),
    judged as (
        select n, case when size >= {{ least }} then 0 else 1 end as fails
        from classes
    )
    {{ sqlanon.figures() }}
{%- endmacro %}
