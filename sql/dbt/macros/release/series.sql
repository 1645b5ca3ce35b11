{#
  The ledger of a series: a model that `sqlanon dbt` wrote for one holds the statements; these macros run them, in the
  transaction of the release. The secret is bound to the session and never part of a statement.
#}

{#- The statements of a chapter, in their order, as the model holds them. -#}
{% macro series_statements(model, chapter) %}
    {% set code = sqlanon.written_part(model) %}
    {% set found = [] %}
    {% set block = '(?ms)^[{][%] set series_' ~ chapter ~ '_[0-9]+ -[%][}]$\\n(.*?)\\n^[{][%]- endset [%][}]$' %}
    {% for statement in modules.re.finditer(block, code) %}
        {% do found.append(statement.group(1)) %}
    {% endfor %}
    {% if not found %}
        {{ sqlanon.refuse("history: the model does not keep its ledger: run `sqlanon dbt` again") }}
    {% endif %}
    {{ return(found) }}
{% endmacro %}


{#- Run a chapter; the rows of its last statement. -#}
{% macro run_series(model, chapter, built) %}
    {% set ns = namespace(rows=[]) %}
    {% for statement in sqlanon.series_statements(model, chapter) %}
        {% set written = render(statement.replace('{' ~ '{ this }' ~ '}', built | string)) %}
        {#- Of what an adapter has no statement for, only the comment is left. -#}
        {% if modules.re.sub('(?m)^--.*$', '', written).strip() %}
            {% set ns.rows = run_query(written).rows %}
        {% endif %}
    {% endfor %}
    {{ return(ns.rows) }}
{% endmacro %}


{#- Who stays out of a built table, so that people who share all of their history satisfy the requirement together. -#}
{% macro hold_back(model, meta, built) %}
    {% do sqlanon.require_series(model, meta) %}
    {% do sqlanon.give_secret(meta.history.secret[2:-1]) %}
    {% do sqlanon.run_series(model, 'make', built) %}
    {% do sqlanon.run_series(model, 'close', built) %}
    {% do sqlanon.run_series(model, 'check', built) %}
    {% set before = sqlanon.count_of(built) %}
    {% do sqlanon.run_series(model, 'begin', built) %}
    {% set ns = namespace(open=true) %}
    {#- Only people leave, so it ends; the bound is against a statement that somebody changed. -#}
    {% for number in range(1000) if ns.open %}
        {% do sqlanon.run_series(model, 'round', built) %}
        {% set ns.open = sqlanon.run_series(model, 'open', built)[0][0] | int > 0 %}
    {% endfor %}
    {% do sqlanon.run_series(model, 'settle', built) %}
    {{ return(before - sqlanon.count_of(built)) }}
{% endmacro %}


{#- Write the ledger, in the transaction of the release; what it says of the release. -#}
{% macro remember(model, built) %}
    {% do sqlanon.run_series(model, 'write', built) %}
    {% set row = sqlanon.run_series(model, 'told', built)[0] %}
    {% do sqlanon.run_series(model, 'drop', built) %}
    {% do sqlanon.take_secret() %}
    {{ return({
        'release': row[0] | int, 'joined': row[1] | int, 'gone': row[2] | int, 'deferred': row[3] | int,
        'covered': row[4] | int, 'staying': row[5] | int, 'smallest_track': row[6] | int,
    }) }}
{% endmacro %}


{% macro count_of(relation) %}
    {% set counts %}
        select count(*) from {{ relation }}
    {% endset %}
    {{ return(run_query(counts).rows[0][0] | int) }}
{% endmacro %}


{#- What the model's meta asks of a ledger is what it was written for. -#}
{% macro require_series(model, meta) %}
    {% set history = meta.history %}
    {% if history is not mapping or not history.get('key') or not history.get('ledger') or not history.get('secret') %}
        {{ sqlanon.refuse('history: a mapping of key, ledger and secret is expected') }}
    {% endif %}
    {% for name in history if name not in ['key', 'ledger', 'secret', 'left', 'joiners', 'leavers'] %}
        {{ sqlanon.refuse("history: this package does not know '" ~ name ~ "'") }}
    {% endfor %}
    {% set asked = {} %}
    {% for name in ['k', 'l_diversity', 'p_sensitive'] if meta.get(name) is not none %}
        {% do asked.update({name: meta[name]}) %}
    {% endfor %}
    {% set stated = modules.re.search('(?m)^-- Series: (.*)$', sqlanon.written_part(model)) %}
    {% set now = fromjson(tojson({'history': history, 'asked': asked, 'source': meta.source})) %}
    {% if not stated or fromjson(stated.group(1)) != now %}
        {{ sqlanon.refuse(
            'history: the model was written for another ledger, source or requirement: run `sqlanon dbt` again'
        ) }}
    {% endif %}
{% endmacro %}


{#- The secret of the hashes, bound to the session: no statement and no log has it. -#}
{% macro give_secret(name) %}
    {{ return(adapter.dispatch('give_secret', 'sqlanon')(name)) }}
{% endmacro %}

{% macro default__give_secret(name) %}
    {{ sqlanon.refuse('history: a ledger is kept on DuckDB and PostgreSQL; ' ~ target.type ~ ' is not among them') }}
{% endmacro %}

{% macro duckdb__give_secret(name) %}
    {% do adapter.add_query(
        'set variable sqlanon_secret = ' ~ adapter.get_binding_char(), bindings=[env_var(name)], abridge_sql_log=True
    ) %}
{% endmacro %}

{#- The server would see a text that is bound here: the session has the secret from the variable PGOPTIONS of libpq. -#}
{% macro postgres__give_secret(name) %}
{% endmacro %}


{% macro take_secret() %}
    {{ return(adapter.dispatch('take_secret', 'sqlanon')()) }}
{% endmacro %}

{% macro default__take_secret() %}
{% endmacro %}

{% macro duckdb__take_secret() %}
    {% do run_query('reset variable sqlanon_secret') %}
{% endmacro %}
