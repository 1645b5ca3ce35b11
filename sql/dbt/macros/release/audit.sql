{#
  The audit of a release before anybody sees it: every model of the requirement, measured from the built table.
  Findings name models, columns and counts; never a value.
#}

{% macro audit_findings(relation, classes, meta) %}
    {{ return(adapter.dispatch('audit_findings', 'sqlanon')(relation, classes, meta)) }}
{% endmacro %}

{% macro default__audit_findings(relation, classes, meta) %}
    {% set findings = [] %}
    {% for name, counts in sqlanon.asked_counts(relation, classes, meta) %}
        {% set measured = run_query(counts).rows[0] %}
        {% set finding = sqlanon.finding(measured) %}
        {% if finding %}
            {% do findings.append(name ~ ': ' ~ finding) %}
        {% endif %}
    {% endfor %}
    {% do findings.extend(sqlanon.suppression_findings(relation, meta)) %}
    {{ return(findings) }}
{% endmacro %}


{#- [name, query of figures] for every model of the requirement. -#}
{% macro asked_counts(relation, classes, meta) %}
    {% set asked = [] %}
    {% if meta.get('k') is not none %}
        {% set counts = sqlanon.k_anonymity_counts(relation, classes, meta.k, meta.get('respondent')) %}
        {% do asked.append(['k = ' ~ meta.k, counts]) %}
    {% endif %}
    {% for entry in meta.get('l_diversity') or [] %}
        {% set kind = entry.get('kind', 'distinct') %}
        {% set counts = sqlanon.l_diversity_counts(
            relation, classes, entry.column, entry.l, kind, entry.get('c')
        ) %}
        {% do asked.append([kind ~ ' l_diversity of ' ~ entry.column, counts]) %}
    {% endfor %}
    {% for entry in meta.get('p_sensitive') or [] %}
        {% set counts = sqlanon.l_diversity_counts(relation, classes, entry.column, entry.p) %}
        {% do asked.append(['p_sensitive of ' ~ entry.column, counts]) %}
    {% endfor %}
    {% for entry in meta.get('alpha') or [] %}
        {% set counts = sqlanon.alpha_counts(relation, classes, entry.column, entry.value, entry.alpha) %}
        {% do asked.append(['alpha of ' ~ entry.column, counts]) %}
    {% endfor %}
    {% for entry in meta.get('t_closeness') or [] %}
        {% set reference = sqlanon.relation_named(meta.source) %}
        {% set counts = sqlanon.t_closeness_counts(
            relation, classes, entry.column, entry.t, entry.get('distance', 'equal'), reference, entry.get('order')
        ) %}
        {% do asked.append(['t_closeness of ' ~ entry.column, counts]) %}
    {% endfor %}
    {{ return(asked) }}
{% endmacro %}


{#- A sentence about a row of figures; none if nothing is wrong. By position: adapters fold the case of names. -#}
{% macro finding(measured) %}
    {% set released = measured[0] | int %}
    {% set classes = measured[1] | int %}
    {% set failing = measured[2] | int %}
    {% set at_risk = measured[3] | int %}
    {% set uncovered = measured[4] | int %}
    {% if classes == 0 %}
        {{ return('the release has no rows') }}
    {% elif uncovered > 0 %}
        {{ return(uncovered ~ ' values are not in the order or not in the source') }}
    {% elif failing > 0 %}
        {{ return(failing ~ ' of ' ~ classes ~ ' classes fail, with ' ~ at_risk ~ ' of ' ~ released ~ ' rows') }}
    {% endif %}
    {{ return(none) }}
{% endmacro %}


{#- How many rows of the source are missing, against suppression.limit: rows, or percent of the source. -#}
{% macro suppression_findings(relation, meta) %}
    {% set rule = meta.get('suppression') or {} %}
    {% if rule.get('mode', 'drop') != 'drop' %}
        {{ sqlanon.refuse('suppression.mode: a release built by dbt leaves rows out; only drop is possible') }}
    {% endif %}
    {% set counts %}
        select
            (select count(*) from {{ sqlanon.relation_named(meta.source) }}) as source_rows,
            (select count(*) from {{ relation }}) as released_rows
    {% endset %}
    {% set measured = run_query(counts).rows[0] %}
    {% set source_rows = measured[0] | int %}
    {% set missing = source_rows - measured[1] | int %}
    {% set limit = rule.get('limit', 0) | string %}
    {% if limit.endswith('%') %}
        {% set share = sqlanon.fraction(limit[:-1].strip(), 'suppression.limit') %}
        {% set allowed = source_rows * share[0] // (100 * share[1]) %}
    {% else %}
        {% set allowed = sqlanon.whole_number(limit, 0, 'suppression.limit') %}
    {% endif %}
    {% if missing > allowed %}
        {% set text = missing ~ ' of ' ~ source_rows ~ ' rows of the source are left out' %}
        {{ return(['suppression: ' ~ text ~ ', at most ' ~ allowed ~ ' may be']) }}
    {% elif missing < 0 %}
        {{ return(['suppression: the release has ' ~ -missing ~ ' rows more than its source']) }}
    {% endif %}
    {{ return([]) }}
{% endmacro %}
