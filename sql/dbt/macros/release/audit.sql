{#
  The audit of a release before anybody sees it: every model of the requirement, measured from the built table.
  Findings name models, columns and counts; never a value.
#}

{#- What was measured of each model of the requirement, the worst of all classes; each with a finding where it fails. -#}
{% macro audit_measures(relation, classes, meta) %}
    {{ return(adapter.dispatch('audit_measures', 'sqlanon')(relation, classes, meta)) }}
{% endmacro %}

{% macro default__audit_measures(relation, classes, meta) %}
    {% set found = [] %}
    {% for asked in sqlanon.asked_counts(relation, classes, meta) %}
        {% set begun = modules.datetime.datetime.now() %}
        {% set measured = run_query(asked.counts).rows[0] %}
        {% do found.append({
            'name': asked.name,
            'model': asked.model,
            'column': asked.column,
            'required': asked.required,
            'released_rows': measured[0] | int,
            'classes': measured[1] | int,
            'classes_at_risk': measured[2] | int,
            'rows_at_risk': measured[3] | int,
            'finding': sqlanon.finding(measured),
            'seconds': (modules.datetime.datetime.now() - begun).total_seconds(),
        }) %}
    {% endfor %}
    {{ return(found) }}
{% endmacro %}


{#- {name, model, column, required, query of figures} for every model of the requirement. -#}
{% macro asked_counts(relation, classes, meta) %}
    {% set asked = [] %}
    {% if meta.get('k') is not none %}
        {% set counts = sqlanon.k_anonymity_counts(relation, classes, meta.k, meta.get('respondent')) %}
        {% do asked.append(sqlanon.asked('k = ' ~ meta.k, 'k', {'k': meta.k}, counts)) %}
    {% endif %}
    {% for entry in meta.get('l_diversity') or [] %}
        {% set kind = entry.get('kind', 'distinct') %}
        {% set counts = sqlanon.l_diversity_counts(
            relation, classes, entry.column, entry.l, kind, entry.get('c')
        ) %}
        {% do asked.append(sqlanon.asked(kind ~ ' l_diversity of ' ~ entry.column, 'l_diversity', entry, counts)) %}
    {% endfor %}
    {% for entry in meta.get('p_sensitive') or [] %}
        {% set counts = sqlanon.l_diversity_counts(relation, classes, entry.column, entry.p) %}
        {% do asked.append(sqlanon.asked('p_sensitive of ' ~ entry.column, 'p_sensitive', entry, counts)) %}
    {% endfor %}
    {% for entry in meta.get('alpha') or [] %}
        {% set counts = sqlanon.alpha_counts(relation, classes, entry.column, entry.value, entry.alpha) %}
        {% do asked.append(sqlanon.asked('alpha of ' ~ entry.column, 'alpha', entry, counts)) %}
    {% endfor %}
    {% for entry in meta.get('t_closeness') or [] %}
        {% set reference = sqlanon.relation_named(meta.source) %}
        {% set counts = sqlanon.t_closeness_counts(
            relation, classes, entry.column, entry.t, entry.get('distance', 'equal'), reference, entry.get('order')
        ) %}
        {% do asked.append(sqlanon.asked('t_closeness of ' ~ entry.column, 't_closeness', entry, counts)) %}
    {% endfor %}
    {{ return(asked) }}
{% endmacro %}

{#- The value that `alpha` is about and the order that closeness goes by are values of the data: they are not kept. -#}
{% macro asked(name, model, entry, counts) %}
    {% set required = [] %}
    {% for key, value in entry.items() if key not in ['column', 'value', 'order'] %}
        {% do required.append(key ~ ' ' ~ value) %}
    {% endfor %}
    {{ return({
        'name': name, 'model': model, 'column': entry.get('column'), 'required': required | join(', '), 'counts': counts
    }) }}
{% endmacro %}


{#- The rows of the smallest class, or its respondents. -#}
{% macro smallest_class(relation, classes, meta) %}
    {% set further = {'respondent': meta.respondent} if meta.get('respondent') else {} %}
    {% set nobody = 'max(case when respondent is null then 1 else 0 end)' %}
    {% set size = 'count(distinct respondent) + ' ~ nobody if further else 'count(*)' %}
    {% set counts %}
        with keyed as (
            {{ sqlanon.keyed_rows(relation, classes, further, 'smallest class') }}
        )
        select min(size) as smallest
        from (
            select {{ size }} as size
            from keyed
            group by {{ sqlanon.class_list(classes) }}
        ) as classes
    {% endset %}
    {{ return(run_query(counts).rows[0][0] | int) }}
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


{#- How many rows the source and the release have; a ledger may hold some of them back. -#}
{% macro rows_of_both(relation, meta, held=0) %}
    {% set counts %}
        select
            (select count(*) from {{ sqlanon.relation_named(meta.source) }}) as source_rows,
            (select count(*) from {{ relation }}) as released_rows
    {% endset %}
    {% set measured = run_query(counts).rows[0] %}
    {{ return({'source': measured[0] | int, 'released': measured[1] | int, 'held': held}) }}
{% endmacro %}


{#- How many rows of the source are missing, against suppression.limit: rows, or percent of the source. -#}
{% macro suppression_findings(rows, meta) %}
    {% set rule = meta.get('suppression') or {} %}
    {% if rule.get('mode', 'drop') != 'drop' %}
        {{ sqlanon.refuse('suppression.mode: a release built by dbt leaves rows out; only drop is possible') }}
    {% endif %}
    {% set asked = rows.source - rows.held %}
    {% set missing = asked - rows.released %}
    {% set limit = rule.get('limit', 0) | string %}
    {% if limit.endswith('%') %}
        {% set share = sqlanon.fraction(limit[:-1].strip(), 'suppression.limit') %}
        {% set allowed = asked * share[0] // (100 * share[1]) %}
    {% else %}
        {% set allowed = sqlanon.whole_number(limit, 0, 'suppression.limit') %}
    {% endif %}
    {% if missing > allowed %}
        {% set text = missing ~ ' of ' ~ rows.source ~ ' rows of the source are left out' %}
        {{ return(['suppression: ' ~ text ~ ', at most ' ~ allowed ~ ' may be']) }}
    {% elif missing < 0 %}
        {{ return(['suppression: the release has ' ~ -missing ~ ' rows more than its source']) }}
    {% endif %}
    {{ return([]) }}
{% endmacro %}
