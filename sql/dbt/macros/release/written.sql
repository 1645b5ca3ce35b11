{#
  A release is built from SQL that `sqlanon dbt` wrote, and nobody changed since, at levels that the columns allow. The
  digest is no secret; it keeps out what was written by hand. The labels of the built table are measured all the same.
#}

{% macro require_written(model, meta) %}
    {% set part = sqlanon.written_part(model) %}
    {% set found = modules.re.search('(?m)^-- Signature: ([0-9a-f]{32})$', part) %}
    {% set unsigned = modules.re.sub('(?m)^-- Signature: [0-9a-f]{32}$', '-- Signature: ' ~ '0' * 32, part, count=1) %}
    {% if not found or local_md5(unsigned.strip()) != found.group(1) %}
        {{ sqlanon.refuse(
            "model '" ~ model.name ~ "' was changed after `sqlanon dbt` wrote it: run the command again"
        ) }}
    {% endif %}
    {% set levels = dict(sqlanon.stated_levels(part)) %}
    {% for name, bounds in sqlanon.level_bounds(model, meta).items() %}
        {% set level = levels.get(name) %}
        {% set least = bounds.get('min') or 0 %}
        {% set most = bounds.get('max') %}
        {% if level is none or level < least or (most is not none and level > most) %}
            {{ sqlanon.refuse(
                "column '" ~ name ~ "': the model shows level " ~ level ~ ", which its levels do not allow: run "
                ~ "`sqlanon dbt` again"
            ) }}
        {% endif %}
    {% endfor %}
{% endmacro %}


{#-
  What `sqlanon dbt` wrote of a model. Around it a model holds comments and calls of config(), on each side by themselves;
  what looks like Jinja in a comment of SQL is rendered, so there it counts as SQL.
-#}
{% macro written_part(model) %}
    {% set code = model.raw_code.replace('\r\n', '\n') %}
    {% set marks = '(?ms)^-- Written by `sqlanon dbt`[.].*?^-- End of what `sqlanon dbt` wrote[.]$' %}
    {% set found = modules.re.search(marks, code) %}
    {% if not found %}
        {{ sqlanon.refuse(
            "model '" ~ model.name ~ "' was not written by `sqlanon dbt`: run the command, it writes the release"
        ) }}
    {% endif %}
    {% set quoted = "'(?:[^'\\\\]|\\\\.)*'" ~ '|"(?:[^"\\\\]|\\\\.)*"' %}
    {% set called = namespace(text="(?:[^()'\"]|" ~ quoted ~ ')*') %}
    {% for depth in range(3) %}
        {% set called.text = "(?:[^()'\"]|" ~ quoted ~ '|\\(' ~ called.text ~ '\\))*' %}
    {% endfor %}
    {% set no_jinja = '(?!\\{\\{|\\{%|\\{#)' %}
    {% set silent = [
        '\\{#.*?#\\}',
        '\\{\\{-?\\s*config\\(' ~ called.text ~ '\\)\\s*-?\\}\\}',
        '--(?:' ~ no_jinja ~ '[^\\n])*',
        '/\\*(?:(?!\\*/)' ~ no_jinja ~ '.)*\\*/',
    ] | join('|') %}
    {% for side in [code[:found.start()], code[found.end():]] %}
        {% if modules.re.sub('(?s)' ~ silent, '', side).strip() %}
            {{ sqlanon.refuse(
                "model '" ~ model.name ~ "' holds SQL beside what `sqlanon dbt` wrote: leave only config() and comments"
            ) }}
        {% endif %}
    {% endfor %}
    {{ return(found.group(0)) }}
{% endmacro %}


{#- {quasi-identifier: its levels} as the model's properties and its own meta state them. -#}
{% macro level_bounds(model, meta) %}
    {% set found = {} %}
    {% for name, stated in (meta.get('columns') or {}).items() if stated.get('role') == 'quasi_identifier' %}
        {% do found.update({name: stated.get('levels') or {}}) %}
    {% endfor %}
    {% for name, column in model.columns.items() %}
        {% set stated = (column.config.meta or {}).get('sqlanon') or (column.meta or {}).get('sqlanon') or {} %}
        {% if stated.get('role') == 'quasi_identifier' %}
            {% do found.update({name: stated.get('levels') or {}}) %}
        {% endif %}
    {% endfor %}
    {{ return(found) }}
{% endmacro %}


{#- [quasi-identifier, level] in their order, as the heading of a model states them. -#}
{% macro stated_levels(code) %}
    {% set stated = modules.re.search('(?m)^-- Levels: (.*)$', code) %}
    {{ return(fromjson(stated.group(1).strip()) if stated else []) }}
{% endmacro %}


{#-
  What is wrong with the labels of a table that was built and not yet published. `sqlanon dbt` writes a question about
  each generalized column below the model's query: TRUE where it shows labels of its level alone.
-#}
{% macro label_findings(model, built) %}
    {% set code = sqlanon.written_part(model) %}
    {% set questions = {} %}
    {% set block = '(?ms)^[{][%] set labels_([0-9]+) -[%][}]$\\n(.*?)\\n^[{][%]- endset [%][}]$' %}
    {% for found in modules.re.finditer(block, code) %}
        {% do questions.update({found.group(1) | int: found.group(2)}) %}
    {% endfor %}
    {% set findings = [] %}
    {% for name, level in sqlanon.stated_levels(code) %}
        {% if loop.index0 in questions %}
            {% set asked = questions[loop.index0].replace('{' ~ '{ this }' ~ '}', built | string) %}
            {% set answer = run_query(render(asked)).rows %}
            {% if answer | length != 1 or not answer[0][0] %}
                {% do findings.append("column '" ~ name ~ "' shows labels of another level than " ~ level) %}
            {% endif %}
        {% elif level > 0 %}
            {% do findings.append(
                "the model does not ask which labels column '" ~ name ~ "' shows: run `sqlanon dbt` again"
            ) %}
        {% endif %}
    {% endfor %}
    {{ return(findings) }}
{% endmacro %}
