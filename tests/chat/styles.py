"""More templates, written for these tests in the styles of model families. Each uses different constructs of Jinja."""

from __future__ import annotations

# Macros that call each other over a schema, as TypeScript; a call block; `is mapping`.
TYPESCRIPT = r"""
{%- macro kind(schema, depth=0) -%}
    {%- if schema.anyOf is defined -%}
        {%- for one in schema.anyOf %}{{ kind(one, depth) }}{{ " | " if not loop.last }}{% endfor -%}
    {%- elif schema.enum -%}
        {{- schema.enum | map('tojson') | join(' | ') -}}
    {%- elif schema.type == 'array' -%}
        {{- kind(schema['items'], depth) if schema['items'] is mapping else 'any' }}[]
    {%- elif schema.type == 'object' and schema.properties is mapping and schema.properties -%}
        {{- '{\n' }}
        {%- for name, one in schema.properties | dictsort -%}
            {{- '  ' * (depth + 1) ~ name ~ ('' if name in schema.required | default([]) else '?') ~ ': ' ~ kind(one, depth + 1) }},
            {%- if one.description %} // {{ one.description }}{% endif %}
            {{- '\n' }}
        {%- endfor -%}
        {{- '  ' * depth ~ '}' -}}
    {%- else -%}
        {{- {'integer': 'number', 'string': 'string'}.get(schema.type, 'any') -}}
    {%- endif -%}
{%- endmacro -%}
{%- macro section(title) -%}
    {{- '<|start|>' + title + '<|message|>' }}{{ caller() }}{{ '<|end|>' -}}
{%- endmacro -%}
{%- if tools %}{% call section('developer') %}
    {%- for tool in tools | map(attribute='function') -%}
        type {{ tool.name }} = (_: {{ kind(tool.parameters) }}) => any;{{ '\n' }}
    {%- endfor -%}
{% endcall %}{% endif -%}
{%- for m in messages -%}
    {%- if m.tool_calls is defined -%}
        {%- for c in m.tool_calls -%}
            {%- call section(m.role + ' to=functions.' + c.function.name) %}
                {{- c.function.arguments if c.function.arguments is string else c.function.arguments | tojson }}
            {%- endcall -%}
        {%- endfor -%}
    {%- else -%}
        {%- call section(m.role) %}{{ m.content if m.content is string else m.content | map(attribute='text') | join('\n') }}{% endcall -%}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt %}{{ '<|start|>assistant' }}{% endif -%}
"""

# `loop.previtem` and `loop.nextitem`, `break` and `continue`, negative slices.
NEIGHBORS = r"""
{%- set ns = namespace(last=-1, seen=0) -%}
{%- for m in messages -%}
    {%- if m.role == 'user' %}{% set ns.last = loop.index0 %}{% endif -%}
{%- endfor -%}
{%- for m in messages -%}
    {%- if m.role in ('system', 'developer') -%}
        {%- if not loop.first %}{% continue %}{% endif -%}
        {{- '<|im_system|>' ~ m.content ~ '<|im_end|>' }}
        {%- continue -%}
    {%- endif -%}
    {%- set ns.seen = ns.seen + 1 -%}
    {%- if ns.seen > 40 %}{% break %}{% endif -%}
    {%- if m.role == 'tool' -%}
        {%- if loop.previtem is not defined or loop.previtem.role != 'tool' %}{{ '<|im_user|>' }}{% endif -%}
        {{- '<tool_response id=' ~ m.tool_call_id[-3:] ~ '>' ~ m.content ~ '</tool_response>' }}
        {%- if loop.nextitem is not defined or loop.nextitem.role != 'tool' %}{{ '<|im_end|>' }}{% endif -%}
    {%- else -%}
        {{- '<|im_' ~ m.role ~ '|>' -}}
        {%- if m.reasoning_content and loop.index0 > ns.last -%}
            {{- '<think>' ~ m.reasoning_content ~ '</think>' -}}
        {%- endif -%}
        {{- m.content -}}
        {%- for c in m.tool_calls or [] -%}
            {{- '<|tool_call|>' ~ loop.index ~ ':' ~ c.function.name ~ '(' -}}
            {%- if c.function.arguments is mapping -%}
                {%- for k, v in c.function.arguments.items() -%}
                    {{- k ~ '=' ~ (v | tojson) ~ (', ' if not loop.last else '') -}}
                {%- endfor -%}
            {%- endif -%}
            {{- ')' -}}
        {%- endfor -%}
        {{- '<|im_end|>' -}}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt %}{{ '<|im_assistant|>' ~ ('' if enable_thinking | default(true) else '<think></think>') }}{% endif -%}
"""

# Generation blocks in a loop in a macro; the stop token in them.
MARKED = r"""
{%- macro said(m) -%}
    {%- generation -%}
        {%- if m.reasoning_content %}<think>{{ m.reasoning_content | trim }}</think>{{ '\n' }}{% endif -%}
        {{- m.content or '' -}}
        {%- for c in m.tool_calls | default([], true) -%}
            <tool_call>{{ c.function | tojson(sort_keys=true) }}</tool_call>
        {%- endfor -%}
        {{- eos_token -}}
    {%- endgeneration -%}
{%- endmacro -%}
{{- bos_token -}}
{%- for m in messages -%}
    <|turn|>{{ m.role }}{{ '\n' }}
    {%- if m.role == 'assistant' %}{{ said(m) }}{% else %}{{ m.content }}{% endif %}{{ '\n' -}}
{%- endfor -%}
{%- if add_generation_prompt %}<|turn|>assistant{{ '\n' }}{% endif -%}
"""

# XML with an element for each parameter; attributes of loops over items; the string test before tojson.
XML_CALLS = r"""
{%- set tool_start, tool_end = '<minimal:tool_call>', '</minimal:tool_call>' -%}
{%- macro invoke(c) -%}
<invoke name="{{ c.name }}">
{% for key, value in c.arguments | items %}
<parameter name="{{ key }}">{{ value if value is string else value | tojson(ensure_ascii=False) }}</parameter>
{% endfor %}
</invoke>
{% endmacro -%}
{%- if tools -%}
]~b]system
{% for tool in tools %}<tool>{{ tool.function | tojson(ensure_ascii=False) }}</tool>
{% endfor %}[e~[
{% endif -%}
{%- for m in messages -%}
]~b]{{ {'assistant': 'ai'}.get(m.role, m.role) }}
{% if m.content is string %}{{ m.content }}{% elif m.content %}{% for p in m.content if p.type == 'text' %}{{ p.text }}{% else %}?{% endfor %}{% endif %}
{% if m.tool_calls %}
{{ tool_start }}
{% for c in m.tool_calls %}{{ invoke(c.function) }}{% endfor %}
{{ tool_end }}
{% endif %}
[e~[
{% endfor -%}
{%- if add_generation_prompt %}]~b]ai
<think>
{% endif -%}
"""

# Pythonic calls: a recursive macro over values.
PYTHONIC = r"""
{%- macro value(v) -%}
    {%- if v is boolean %}{{ 'True' if v else 'False' }}
    {%- elif v is none %}None
    {%- elif v is string %}{{ "'" ~ v | replace("\\", "\\\\") | replace("'", "\\'") ~ "'" }}
    {%- elif v is mapping %}{ {%- for k, x in v.items() %}{{ value(k) }}: {{ value(x) }}{{ ', ' if not loop.last }}{% endfor -%} }
    {%- elif v is iterable %}[{% for x in v %}{{ value(x) }}{{ ', ' if not loop.last }}{% endfor %}]
    {%- else %}{{ v }}
    {%- endif -%}
{%- endmacro -%}
{{- bos_token }}
{%- if messages[0].role == 'system' %}{% set sys, rest = messages[0].content, messages[1:] %}{% else %}{% set sys, rest = '', messages %}{% endif %}
{%- if sys or tools %}{{ '<|header_start|>system<|header_end|>\n\n' + (sys | string | trim) }}
    {%- if tools %}{{ '\n' + tools | tojson(indent=4) }}{% endif %}{{ '<|eot|>' }}
{%- endif %}
{%- for m in rest %}
    {{- '<|header_start|>' + ('ipython' if m.role == 'tool' else m.role) + '<|header_end|>\n\n' }}
    {%- if m.content is string %}{{ m.content }}{% elif m.content is sequence and m.content %}
        {%- for p in m.content %}{{ '<|image|>' if p['type'] == 'image' else p['text'] | trim }}{% endfor %}
    {%- endif %}
    {%- if 'tool_calls' in m and m['tool_calls'] %}{{ '<|python_start|>[' }}
        {%- for c in m.tool_calls %}{{ c.function.name }}(
            {%- if c.function.arguments is mapping %}{% for k in c.function.arguments %}{{ k }}={{ value(c.function.arguments[k]) }}{{ ', ' if not loop.last }}{% endfor %}{% endif %})
            {{- ', ' if not loop.last }}
        {%- endfor %}{{ ']<|python_end|>' }}
    {%- endif %}{{ '<|eom|>' if m.tool_calls and not loop.last else '<|eot|>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|header_start|>assistant<|header_end|>\n\n' }}{% endif %}
"""

# Dates, a namespace with several fields, `do`-like assignments of lists by concatenation.
DATED = r"""
{%- if strftime_now is defined %}{% set today = strftime_now('%d %B %Y') %}{% else %}{% set today = 'unknown' %}{% endif -%}
{%- set ns = namespace(system=[], rest=[]) -%}
{%- for m in messages -%}
    {%- if m.role == 'system' %}{% set ns.system = ns.system + [m.content] %}{% else %}{% set ns.rest = ns.rest + [m] %}{% endif -%}
{%- endfor -%}
<|system|>
Knowledge: 2024. Today: {{ date_string | default(today) }}, {{ strftime_now("%Y-%m-%dT%H") }}
{{ ns.system | join('\n\n') }}
{%- if documents %}
{% for d in documents %}
[{{ loop.index }}/{{ loop.length }}] {{ d.title | default('untitled', true) | upper }}: {{ d['text'] | truncate(9, true, '…') }}
{% endfor %}
{%- endif %}
<|end|>
{%- for m in ns.rest %}
<|{{ m.role }}|>
{{ m.content | default('', true) }}{{ eos_token if m.role == 'assistant' }}
{%- endfor %}
{%- if add_generation_prompt %}
<|assistant|>
{% endif %}
"""

# Refusals, the alternation of roles by parity, filters with attributes.
STRICT = r"""
{%- set known = ['system', 'user', 'assistant', 'tool'] -%}
{%- for m in messages if m.role not in known -%}
    {{- raise_exception('Unknown role: ' + m.role) -}}
{%- endfor -%}
{%- set talk = messages | rejectattr('role', 'in', ['system', 'tool']) | rejectattr('tool_calls', 'defined') | list -%}
{%- for m in talk -%}
    {%- if (m['role'] == 'user') != (loop.index0 is even) %}{{ raise_exception('Roles must alternate') }}{% endif -%}
{%- endfor -%}
{%- set calls = messages | selectattr('tool_calls', 'defined') | map(attribute='tool_calls') | sum(start=[]) -%}
{%- for c in calls -%}
    {%- if c.id is not defined or c.id | length != 9 %}{{ raise_exception('IDs have nine characters') }}{% endif -%}
{%- endfor -%}
{{- bos_token -}}
{{- (messages | selectattr('role', 'eq', 'system') | map(attribute='content') | first | default('')) ~ '[SEP]' -}}
{%- for m in messages -%}
    {%- if m.role == 'user' -%}
        {%- if loop.last and tools %}{{ '[AVAILABLE_TOOLS]' ~ tools | tojson ~ '[/AVAILABLE_TOOLS]' }}{% endif -%}
        {{- '[INST]' ~ m.content ~ '[/INST]' -}}
    {%- elif m.role == 'tool' -%}
        {{- '[TOOL_RESULTS]' ~ {'content': m.content, 'call_id': m.tool_call_id} | tojson ~ '[/TOOL_RESULTS]' -}}
    {%- elif m.tool_calls is defined -%}
        {{- '[TOOL_CALLS][' -}}
        {%- for c in m.tool_calls -%}
            {%- set out = c.function | tojson -%}
            {{- out[:-1] ~ ', "id": "' ~ c.id ~ '"}' ~ (', ' if not loop.last else ']') -}}
        {%- endfor -%}
        {{- eos_token -}}
    {%- elif m.role == 'assistant' -%}
        {{- ' ' ~ m.content | trim ~ eos_token -}}
    {%- endif -%}
{%- endfor -%}
"""

# `{{ loop(…) }}` of a recursive loop, filters as blocks, captured text with a filter.
OUTLINE = r"""
{%- set head | trim %}

    {% for tool in tools or [] recursive %}
{{ '- ' * loop.depth }}{{ tool.name or (tool.function or {}).name or tool }}
{% if tool.function is defined and tool.function.parameters.properties %}{{ loop(tool.function.parameters.properties.keys() | list) }}{% endif %}
    {%- endfor %}

{% endset -%}
{% filter indent(2, first=true) %}{{ head }}
tools: {{ tools | length if tools else 0 }}{% endfilter %}

{% for m in messages %}
{% filter upper %}{{ m.role }}{% endfilter %}: {% filter replace('\n', ' ') | trim %}{{ m.content }}{% endfilter %}

{% endfor %}
{{- 'ASSISTANT:' if add_generation_prompt -}}
"""

# `with` scopes, conditional expressions, `set` of several names, `|batch`, `|groupby`, `cycler`, `joiner`.
SCOPES = r"""
{% set comma = joiner(', ') %}{% set side = cycler('L', 'R') -%}
<s>{% for group in messages | map(attribute='role') | unique %}{{ comma() }}{{ group }}{% endfor %}</s>
{% for role, of in messages | groupby('role') %}{{ role }}={{ of | length }}{{ ';' if not loop.last }}{% endfor %}

{% for pair in messages | batch(2, 'none') %}
{% with left = pair[0], right = pair[1] %}
{{ side.next() }}<|{{ left.role }}|>{{ left.content }}<|{{ right.role if right is mapping else 'end' }}|>
{%- endwith %}
{% endfor %}
{{ '<|assistant|>' if add_generation_prompt else '<|end|>' }}
"""

# Split reasoning out of the content, `rsplit`, `partition`, slices of strings.
SPLITTING = r"""
{%- for m in messages %}
    {%- set body = m.content if m.content is string else (m.content | default([], true) | selectattr('type', 'equalto', 'text') | map(attribute='text') | join) %}
    {%- set thoughts = m.reasoning_content | default('') %}
    {%- if '</think>' in body %}
        {%- set thoughts, _, body = (body.partition('</think>')[0].split('<think>') | last).strip('\n'), '', body.rsplit('</think>', 1)[1].lstrip() %}
    {%- endif %}
    {{- '<｜' ~ m.role | capitalize ~ '｜>' }}
    {%- if thoughts and loop.revindex <= 2 %}{{ '<think>\n' ~ thoughts[:1] | upper ~ thoughts[1:] ~ '\n</think>\n' }}{% endif %}
    {{- body }}{{ '<｜end▁of▁sentence｜>' if m.role == 'assistant' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<｜Assistant｜>' ~ ('<think>' if thinking is defined and thinking else '</think>') }}{% endif %}
"""

# Numbers: arithmetic, rounding, formats; ids made of an index.
NUMBERED = r"""
{%- set total = messages | length %}
{%- for m in messages %}
    {{- '<turn:%02d/%d>' % (loop.index, total) }}{{ '{:>10}'.format(m.role) }}|{{ '%.1f' | format(100 * loop.index / total) }}%
    {{- '\n' ~ m.content }}
    {%- for c in m.tool_calls or [] %}
        {{- '\n' ~ 'functions.' ~ c.function.name ~ ':' ~ (loop.index0 + 10 * loop.index) // 2 ~ ' ' ~ (c.function.arguments | string | length) ** 2 % 7 }}
    {%- endfor %}
    {{- '\n</turn>\n' }}
{%- endfor %}
{{- '<turn:%02d>' % (total + 1) if add_generation_prompt }}
"""

# Roles as special tokens, by a lookup table and by concatenation; a default system message.
ROLE_TOKENS = r"""
{%- set roles = dict(user='USER', assistant='CHATBOT', system='SYSTEM') -%}
{%- if messages[0]['role'] != 'system' %}{% set messages = [{'role': 'system', 'content': 'You are a bot.'}] + messages %}{% endif -%}
{{- bos_token -}}
{%- for m in messages -%}
    {{- '<|START_OF_TURN_TOKEN|><|' ~ roles[m.role] | default(m.role | upper) ~ '_TOKEN|>' -}}
    {{- '<|START_RESPONSE|>' if m.role == 'assistant' }}{{ m.content }}{{ '<|END_RESPONSE|>' if m.role == 'assistant' -}}
    {{- '<|END_OF_TURN_TOKEN|>' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{- '<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>' ~ ('<|START_THINKING|><|END_THINKING|>' if not (enable_thinking | default(false)) else '') -}}
{%- endif -%}
"""

# Media: placeholders by type, counters in a namespace, keys tested by `in`.
MEDIA = r"""
{%- set count = namespace(image=0, video=0) -%}
{%- macro show(content) -%}
    {%- if content is string %}{{ content }}
    {%- else -%}
        {%- for item in content or [] -%}
            {%- if item is string %}{{ item }}
            {%- elif 'image' in item or 'image_url' in item or item.type == 'image' -%}
                {%- set count.image = count.image + 1 -%}
                {{- ('Picture ' ~ count.image ~ ': ' if add_vision_id) }}<|vision_start|><|image_pad|><|vision_end|>
            {%- elif item.type == 'video' %}<|vision_start|><|video_pad|><|vision_end|>
            {%- elif item.type == 'text' %}{{ item.text }}
            {%- else %}{{ raise_exception('Unexpected item type ' ~ item.type) }}
            {%- endif -%}
        {%- endfor -%}
    {%- endif -%}
{%- endmacro -%}
{%- for m in messages -%}
<|im_start|>{{ m.role }}
{{ show(m.content) }}<|im_end|>
{% endfor -%}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif -%}
"""

# A number of spaces and comments that whitespace control removes or keeps; raw blocks.
WHITESPACE = """
{#- a comment -#}
   {%- for m in messages %}

   {{ m.role }}:\t{{- m.content -}}
   {% if m.role == 'user' +%}
   <user>
   {%- endif %}
{# another #}
   {%+ if true %}kept{% endif +%}
{% endfor -%}
{% raw %}{{ not rendered }}{% endraw %}\r
{{ '' if add_generation_prompt else eos_token }}
"""

STYLES = {
    "typescript": TYPESCRIPT,
    "neighbors": NEIGHBORS,
    "marked": MARKED,
    "xml calls": XML_CALLS,
    "pythonic": PYTHONIC,
    "dated": DATED,
    "strict": STRICT,
    "outline": OUTLINE,
    "scopes": SCOPES,
    "splitting": SPLITTING,
    "numbered": NUMBERED,
    "role tokens": ROLE_TOKENS,
    "media": MEDIA,
    "whitespace": WHITESPACE,
}
