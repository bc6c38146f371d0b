"""The inputs of make_template_golden.py: small templates for every construct we run, and conversations."""

CASES = []


def case(source, **variables):
    CASES.append((source, variables))


def exprs(text, **variables):
    """One case per line: an expression."""
    for line in text.strip().splitlines():
        case("{{ " + line.strip() + " }}", **variables)


def templates(*sources, **variables):
    for source in sources:
        case(source, **variables)


DATA = {
    "s": "Hello, World", "u": "  Gr\u00fc\u00dfe \u4e16\u754c \U0001f600\u00a0", "e": "", "n": 7, "m": -3, "f": 2.5, "t": True, "no": False,
    "nil": None, "l": [1, 2, 3, 4, 5], "d": {"a": 1, "b": "two", "items": "shadow", "nested": {"x": [10, 20]}},
    "rows": [{"k": "x", "v": 1, "on": True}, {"k": "y", "v": 2, "on": False}, {"k": "z", "v": 3}],
    "words": ["b", "a", "c"], "mixed": [1, "a", None, True, 2.5, [1], {"k": "v"}],
}

# Output of values.
exprs("""
nil
t
no
n
f
l
d
mixed
u
1.0
1e16
1e15
123456789012345680.0
1e-5
0.0001
-0.0
1e400 - 1e400 if false else 'x'
100000000000000000000
2**62 * 4
-7
- 7
+n
[undefined_name]
(1,)
(1, 2)
()
[]
{}
{'a': [1, {'b': none}], 'c': 1.5, 2: true, none: 'x'}
"it's"
['it\\'s', "say \\"hi\\"", "both ' and \\"", 'new\\nline', 'tab\\t', 'back\\\\slash', '\\x00\\x7f\\u200b\\ue000']
['\u00e9\u4e16\U0001f600\u00a0\u2028']
range(5)
range(1, 5)
range(1, 10, 3)
range(5)|list
range(5, 0, -2)|list
range(0)|list
undefined_name
d.missing
d['missing']
nil.x
n.x
'abc'.x
'a' 'b' "c"
'\\u00e9\\x41\\101\\n|\\q'
'\\\u00e9'
True
False
None
true and none
0x1F
0b101
0o17
1_000
1_0.5e0_1
00
""", **DATA)

# Arithmetic and comparison.
exprs("""
7 / 2
8 / 2
7 // 2
-7 // 2
7 // -2
-7 % 3
7 % -3
7.5 // 2
-7.5 // 2
7.5 % 2
-7.5 % 2
7 % 2.5
2 ** 10
2 ** -1
2 ** 0.5
2**3**2
-2**2
1 + 2 * 3
(1 + 2) * 3
1 - 2 - 3
10 - 2.5
true + true
true * 3
1 / 0
1 // 0
1 % 0
1.0 / 0
'a' + 'b'
'a' + 1
1 + 'a'
'a' * 3
3 * 'ab'
'a' * -1
[1] + [2]
[1] * 2
(1,) + (2,)
[1] + (2,)
nil + 1
undefined_name + 1
undefined_name ~ 1
1 ~ 2 ~ none ~ [1] ~ 2.0
'x' ~ 1 + 1
1 + 1 ~ 'x'
1 < 2
1 < 2 < 3
1 < 3 < 2
3 > 2 >= 2 == 2 != 1
1 == 1.0
1 == true
'1' == 1
none == none
none == false
undefined_name == undefined_name
undefined_name == none
undefined_name != none
'a' < 'b'
'a' < 'B'
'\u00e9' > 'z'
[1, 2] < [1, 3]
[1] < [1, 0]
(1, 2) == (1, 2)
[1] == (1,)
1 < 'a'
none < 1
undefined_name < 1
{'a': 1} == {'a': 1.0}
{'a': 1, 'b': 2} == {'b': 2, 'a': 1}
1 in [1, 2]
1.0 in [1, 2]
3 in [1, 2]
3 not in [1, 2]
not 3 in [1, 2]
'a' in 'cat'
'' in 'cat'
'x' not in 'cat'
1 in 'cat'
'a' in {'a': 1}
1 in {'a': 1}
'x' in undefined_name
'x' in none
'x' in 5
[1] in [[1], 2]
2 in range(3)
2.0 in range(3)
5 in range(3)
none in [none]
'a' in ('a', 'b')
not true
not ''
not not 1
1 and 2
0 and 2
0 or 'x'
'' or none
1 or 1/0
none and x.y
not 1 == 2
'yes' if n > 3 else 'no'
'yes' if n < 3
'yes' if n < 3 else 'a' if m > 0 else 'b'
('yes' if n < 3) is undefined
1 if true else 2 if true else 3
'%s and %s' % ('a', 1)
'%s' % 'x'
'%d%%' % 42
'%5.2f|' % 3.14159
'%05d' % 42
'%r' % 'x'
'%s' % [1]
'%s %s' % 'a'
'%s' % undefined_name
'%s' % (1, 2)
'%d' % 'x'
'%d' % 3.9
9223372036854775807 + 1
-9223372036854775808 - 1
4611686018427387904 * 4
12345678901234567890
""", **DATA)

# Look-ups and slices.
exprs("""
s[0]
s[-1]
s[100]
u[3]
u[-1]
u[-2]
s[1:3]
s[:3]
s[3:]
s[-3:]
s[:-3]
s[::-1]
s[::2]
s[10:2:-3]
s[-100:100]
s[5:2]
s[0:0]
u[2:6]
u[::-1]
l[1:3]
l[::-1]
l[::-2]
l[-2:]
l[:-2]
l[4:1:-1]
l[10:]
l[:10:3]
l[::0]
l['a':]
l[none:2]
l[0]
l[-5]
l[-6]
l[5]
l['0']
l.0
l.1
l.x
l[1.0]
l[true]
(1, 2, 3)[::-1]
range(10)[2:8:2]
range(10)[::-1]
range(10)[3]
range(10)[-1]
d.a
d['a']
d.items
d['items']
d.nested.x[1]
d.nested['x'][-1]
d['nested'].x
d.nested.y
d.nested.y.z
d['q']['r']
undefined_name.x
undefined_name['x']
undefined_name[0]
nil.x.y
nil['x']
nil[0]
n[0]
d[0]
d[[1]]
d[none]
d.items()[0]
d.get('a')
d.get('zz')
d.get('zz', 5)
d.get('a', 5)
d.keys()|list
d.values()|list
d.items()|list
d.keys()
d.values()
d.items()
d.items()|length
{'x': 1}.items()
'a' in d.keys()
1 in d.values()
d.update
d.update({'a': 2})
d.pop('a')
l.append(1)
l.index(3)
l.index(9)
l.count(3)
s['upper']()
s.__class__
d.__class__.__name__
nil[1:]
d[1:]
undefined_name[1:]
d.nested.items()|list
{'get': 1}.get
{'get': 1}['get']
{'a': {'b': 1}}.a.b
{1: 'one', 1.0: 'float', true: 'bool'}
{1: 'x'}[true]
{(1, 2): 'x'}[(1, 2)]
{[1]: 2}
""", **DATA)

# Tests.
for value in ("undefined_name", "nil", "t", "no", "n", "f", "s", "e", "l", "d", "(1,)", "range(3)", "d.items()", "rows|map(attribute='k')", "d.missing", "[]", "0"):
    for name in ("defined undefined none string mapping iterable sequence number boolean true false integer float").split():
        case("{{ " + value + " is " + name + " }}|{{ " + value + " is not " + name + " }}", **DATA)
exprs("""
n is odd
n is even
n is divisibleby 7
n is divisibleby(2)
n is eq 7
n is ne(7)
n is gt 3 and n is lt 10
n is ge 7 or false
n is le 6
n is in [7, 8]
n is not in [7, 8]
'a' is in 'abc'
n is equalto 7
n is greaterthan 3
n is lessthan 3
s is odd
not n is odd
n is odd is true
n + 1 is even
(n + 1) is even
n is defined and n is not none and n
f is integer
t is integer
t is number
x.y is defined
d.q is defined
d.q.r is defined
d['a'] is defined
s.upper is callable
s is callable
range is callable
undefined_name is defined or 'other'
n is string if n else 3
l is iterable and l is not string
-1 is odd
n is true
1 is eq 1.0
'x' is eq('x')
""", **DATA)

# Filters.
exprs("""
s|length
u|length
l|length
d|length
undefined_name|length
n|length
range(7)|length
l|count
s|upper
s|lower
u|upper
u|lower
'\u00df\ufb01\u01c4 \u0130'|upper
'\u00df\ufb01\u01c4 \u0130'|lower
'\u039f\u0394\u039f\u03a3 \u03a3 \u03a3.'|lower
n|upper
none|upper
undefined_name|upper
'hELLO wORLD-foo (bar)[baz]'|title
"they're bill's"|title
'hELLO'|capitalize
'\u01c6x'|capitalize
''|capitalize
u|trim
'xxhixx'|trim('x')
'xyhiyx'|trim('xy')
n|trim
none|trim
undefined_name|trim
'\\n\\t x \\x1f\\u2003'|trim
l|join
l|join(', ')
l|join(d='-')
words|join(none)
rows|join(',', attribute='k')
rows|join(',', 'v')
mixed|join('|')
'abc'|join('.')
undefined_name|join(',')
n|join
d|join(',')
[undefined_name, 1]|join(',')
undefined_name|default('x')
undefined_name|default
nil|default('x')
nil|default('x', true)
e|default('x', boolean=true)
e|default('x')
0|d(5, true)
d.zz|default({'a': 1})
d.q.r|default('x')
l|first
l|last
[]|first
[]|last
''|first
s|first
s|last
d|first
d|last
rows|first
undefined_name|first
undefined_name|last
n|first
d|items|list
undefined_name|items|list
s|items
d|list
s|list
u|list
undefined_name|list
range(3)|list
n|list
(1, 2)|list
s|replace('l', 'L')
s|replace('l', 'L', 1)
s|replace('', '-')
s|replace('o', '')
n|replace(7, 8)
none|replace('o', '0')
s|replace('l')
n|string
n|string|length
l|string
none|string
undefined_name|string
f|string ~ 'x'
'42'|int
' 42 '|int
'-17'|int
'+5'|int
'4_2'|int
'4__2'|int
'42.9'|int
'-42.9'|int
'abc'|int
'abc'|int(7)
'abc'|int(default=-1)
''|int
f|int
-2.7|int
t|int
nil|int
nil|int(3)
l|int
undefined_name|int
'1e3'|int
'inf'|int
'nan'|int
'99999999999999999999'|int
'3.25'|float
'x'|float
'x'|float(1.5)
n|float
nil|float
'1_0.5'|float
-5|abs
-5.5|abs
'x'|abs
rows|selectattr('on')|list
rows|selectattr('on')|map(attribute='k')|list
rows|selectattr('v', 'gt', 1)|map(attribute='k')|list
rows|selectattr('v', '==', 2)|list
rows|selectattr('v', 'equalto', 2)|list
rows|selectattr('on', 'defined')|list|length
rows|selectattr('on', 'undefined')|list
rows|rejectattr('on')|map(attribute='k')|join(',')
rows|rejectattr('k', 'in', ['x', 'y'])|list
rows|rejectattr('k', 'eq', 'x')|map(attribute='v')|list
rows|selectattr('zz', 'none')|list
rows|selectattr('zz.y')|list
rows|selectattr()
undefined_name|selectattr('x')|list
nil|selectattr('x')|list
n|selectattr('x')|list
rows|map(attribute='k')|list
rows|map(attribute='zz', default='?')|list
rows|map(attribute='on', default=none)|list
rows|map(attribute='on', default='?')|list
[{'a': {'b': [1, 2]}}]|map(attribute='a.b.1')|list
words|map('upper')|list
words|map('upper')|join('')
words|map('replace', 'a', 'A')|list
['1', '2']|map('int')|list
l|map('string')|list
[[1, 2], [3]]|map('length')|list
[[1, 2], [3]]|map('first')|list
[[3, 4], [5, 6]]|map(attribute=1)|list
words|map|list
nil|map('upper')|list
undefined_name|map('upper')|list
l|select('odd')|list
l|select('gt', 3)|list
l|select|list
[0, 1, '', 'a', none]|select|list
l|reject('odd')|list
[0, 1]|reject|list
l|select('in', [1, 9])|list
l|reverse|list
s|reverse
u|reverse
d|reverse|list
range(3)|reverse|list
rows|map(attribute='k')|reverse|list
undefined_name|reverse|list
n|reverse
'<b>'|safe
'<b>'|safe ~ '<i>'
'<b>'|safe + '<i>'
'<i>' + '<b>'|safe
('<b>'|safe)|length
'<b>'|safe == '<b>'
['<b>'|safe]
'<b>'|safe|upper
('<b>'|safe).upper() + '&'
['a'|safe, '<']|join
n|safe
'a\\nb\\n\\nc'|indent
'a\\nb\\n\\nc'|indent(2)
'a\\nb\\n\\nc'|indent(2, true)
'a\\nb\\n\\nc\\n'|indent(2, blank=true)
'a\\nb'|indent('--', first=true)
''|indent
n|indent
l|join(',')|length
l|join(',') ~ 'x'
-1|abs
-n|abs
l|map('string')|join('+')|upper
1|string + '2'
""", **DATA)

# tojson.
exprs("""
d|tojson
mixed|tojson
u|tojson
none|tojson
t|tojson
n|tojson
f|tojson
1e16|tojson
1.0|tojson
'a"b\\\\c\\n\\t\\r\\b\\f\\x01\\x1f\\x7f</script>&\\'\u2028'|tojson
'\u00e9\u4e16\U0001f600\\x7f'|tojson(ensure_ascii=true)
d|tojson(indent=2)
d|tojson(indent=0)
mixed|tojson(indent=4)
[]|tojson(indent=2)
{}|tojson(indent=2)
[[], {}]|tojson(indent=1)
d|tojson(indent='--')
d|tojson(sort_keys=true)
{'b': 1, 'a': {'d': 1, 'c': 2}}|tojson(sort_keys=true, indent=2)
d|tojson(separators=(',', ':'))
d|tojson(indent=2, separators=(',', ': '))
d|tojson(indent=none)
{1: 2, none: 3, true: 4, 1.5: 5}|tojson
{(1, 2): 3}|tojson
(1, 2)|tojson
range(3)|tojson
undefined_name|tojson
[undefined_name]|tojson
d.items()|tojson
d.items()|list|tojson
s|tojson|length
12345678901234567890|tojson
-0.0|tojson
'x'|safe|tojson
""", **DATA)

# String methods.
exprs("""
u.strip()
u.lstrip()
u.rstrip()
'xxhixx'.strip('x')
'xyhiyx'.strip('xy')
'xyhiyx'.lstrip('xy')
'xyhiyx'.rstrip('yx')
'\\nhi\\n'.strip('\\n')
' hi '.strip(none)
'hi'.strip('')
'\u00e9hi\u00e9'.strip('\u00e9')
'hi'.strip(1)
'a,b,,c'.split(',')
'a,b,,c'.split(',', 1)
'a,b,,c'.split(',', -1)
'a,b,,c'.split(',', 0)
'a,b,,c'.split(sep=',', maxsplit=2)
' a  b c '.split()
' a  b c '.split(none, 1)
' a  b c '.split(maxsplit=1)
' a  b c '.split(' ')
'a<sep>b'.split('<sep>')
''.split()
''.split(',')
'abc'.split('')
'a,b,,c'.rsplit(',', 1)
'a,b,,c'.rsplit(',')
' a  b c '.rsplit()
' a  b c '.rsplit(none, 1)
' a  b c '.rsplit(maxsplit=0)
'</think>a</think>b'.split('</think>')[-1]
'aaa'.split('aa')
'aaa'.rsplit('aa')
s.startswith('Hell')
s.startswith('x')
s.startswith('')
s.startswith(('x', 'Hello'))
s.startswith('World', 7)
s.startswith('Wor', 7, 9)
s.startswith('', 100)
s.startswith(1)
s.endswith('ld')
s.endswith(('x', 'World'))
s.endswith('Hello', 0, 5)
s.endswith('')
s.replace('l', 'L')
s.replace('l', 'L', 1)
s.replace('l', 'L', 0)
s.replace('', '.')
s.replace('', '.', 3)
u.replace('', '.')
s.replace('l')
s.replace(1, 2)
'aaa'.replace('aa', 'b')
s.lower()
s.upper()
'\u00df \u01c6 \u0149'.upper()
'\u0130I'.lower()
"they're bill's friends-x 1a".title()
'\u01c6 \u00dfx'.title()
'hELLO wORLD'.capitalize()
'\u00dfx'.capitalize()
', '.join(['a', 'b'])
', '.join('abc')
', '.join([])
', '.join([1])
', '.join(d)
', '.join(undefined_name)
', '.join(rows|map(attribute='k'))
s.find('o')
s.find('o', 5)
s.find('o', 5, 6)
s.find('zz')
s.find('')
s.find('', 12)
s.find('', 13)
s.find('o', -5)
s.find('o', none, -4)
u.find('\u4e16')
u.rfind('\u754c')
s.rfind('o')
s.rfind('o', 0, 6)
s.rfind('')
s.rfind('zz')
s.index('o')
s.index('zz')
s.rindex('o')
s.count('l')
s.count('l', 4)
s.count('')
u.count('')
'aaa'.count('aa')
s.count('l', 100)
'a\\nb\\r\\nc\\rd\\x0be\\u2028f\\n'.splitlines()
'a\\nb\\n'.splitlines(true)
'a\\nb\\n'.splitlines(keepends=true)
''.splitlines()
'\\n'.splitlines()
'{} and {}'.format('a', 1)
'{1} {0}'.format('a', 'b')
'{x}-{y}'.format(x=1, y='z')
'{{}}{}'.format(1)
'{!r}'.format('x')
'{!s:>4}|'.format(1)
'{:>5}|{:<5}|{:^5}|'.format('a', 'b', 'c')
'{:05d}|{:+d}|{:,}'.format(42, 7, 1234567)
'{:.2f}|{:8.3f}|{:.0f}'.format(3.14159, 2.5, 2.5)
'{:*^9}'.format('mid')
'{:5}|'.format(42)
'{:.2}'.format('abcdef')
'{}'.format(none)
'{}'.format()
'{} {0}'.format(1)
'{x}'.format(1)
'{'.format(1)
'}'.format(1)
'{:d}'.format('x')
'{:d}'.format(1.5)
'abc'.removeprefix('a')
'abc'.removeprefix('x')
'abc'.removesuffix('bc')
'abc'.removesuffix('')
'abc'.nosuch
'abc'.upper
'abc'.upper is defined
''.join(['\u4e16', 'b']).upper().lower()
('a' + 'b').upper()
'a'.upper().lower().title()
""".replace("\n'abc'.upper\n", "\n"), **DATA)

# Statements and scopes.
templates(
    "{% if n > 5 %}big{% elif n > 2 %}mid{% else %}small{% endif %}",
    "{% if no %}a{% elif nil %}b{% elif undefined_name %}c{% else %}d{% endif %}",
    "{% if l %}some{% endif %}{% if [] %}none{% endif %}",
    "{% if n == 7 and s %}yes{% endif %}",
    "{% if 1, %}tuple{% endif %}",
    "{% for x in l %}{{ x }},{% endfor %}",
    "{% for x in l %}{{ loop.index }}/{{ loop.index0 }}/{{ loop.revindex }}/{{ loop.revindex0 }}/{{ loop.first }}/{{ loop.last }}/{{ loop.length }} {% endfor %}",
    "{% for x in l %}{{ loop.previtem }}<{{ x }}<{{ loop.nextitem }};{% endfor %}",
    "{% for x in l %}{{ loop.previtem is defined }}{{ loop.nextitem is defined }}{% endfor %}",
    "{% for x in l %}{{ loop.cycle('a', 'b') }}{{ loop.changed(x // 2) }}{{ loop.depth }}{{ loop.depth0 }}{% endfor %}",
    "{% for x in l %}{{ loop }}{% endfor %}",
    "{% for x in [1] %}{{ loop.nosuch }}|{{ loop['index'] }}{% endfor %}",
    "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}",
    "{% for k in d %}{{ k }};{% endfor %}",
    "{% for k, v in d|items %}{{ loop.index }}{{ k }};{% endfor %}",
    "{% for a, (b, c) in [[1, [2, 3]], (4, 'xy')] %}{{ a }}{{ b }}{{ c }};{% endfor %}",
    "{% for a, b in [[1, 2, 3]] %}{% endfor %}",
    "{% for a, b in [[1]] %}{% endfor %}",
    "{% for a, b in [1] %}{% endfor %}",
    "{% for a, in [[1], [2]] %}{{ a }}{% endfor %}",
    "{% for c in u %}[{{ c }}]{% endfor %}",
    "{% for x in [] %}x{% else %}empty{% endfor %}",
    "{% for x in undefined_name %}x{% else %}empty{% endfor %}",
    "{% for x in nil %}x{% endfor %}",
    "{% for x in n %}x{% endfor %}",
    "{% for x in l if x is odd %}{{ x }}{{ loop.index }}{{ loop.length }}{{ loop.last }} {% endfor %}",
    "{% for x in l if x is odd %}{{ x }}{{ loop.last }}{{ loop.nextitem }} {% endfor %}",
    "{% for x in l if x > 100 %}x{% else %}none{% endfor %}",
    "{% for a, b in [[1, 2], [3, 4]] if b > 2 %}{{ a }}{% endfor %}",
    "{% for x in l if loop %}{{ x }}{% endfor %}",
    "{% for x in 1, 2, 3 %}{{ x }}{% endfor %}",
    "{% for x in l[::-1] %}{{ x }}{% endfor %}",
    "{% for x in l %}{% for y in words %}{{ loop.index }}{{ x }}{{ y }}{% endfor %}{{ loop.index }};{% endfor %}",
    "{% for x in l %}{% set outer = loop %}{% for y in words %}{{ outer.index }}{{ loop.index }} {% endfor %}{% endfor %}",
    "{% for x in l %}{% if x == 3 %}{% break %}{% endif %}{{ x }}{% endfor %}",
    "{% for x in l %}{% if x == 3 %}{% continue %}{% endif %}{{ x }}{% endfor %}",
    "{% for x in l %}{% break %}{% else %}else{% endfor %}",
    "{% for x in l %}{% for y in l %}{% if y == 2 %}{% break %}{% endif %}{{ y }}{% endfor %}{{ x }}{% endfor %}",
    "{% break %}",
    "{% for x in l %}{% macro m() %}{% break %}{% endmacro %}{% endfor %}",
    "{% for x in rows|map(attribute='k') %}{{ loop.length }}{{ loop.last }}{{ x }}{% endfor %}",
    "{% for x in rows|selectattr('on') %}{{ x.k }}{% else %}no{% endfor %}",
    "{% set g = rows|map(attribute='k') %}{{ g|list }}{{ g|list }}",
    "{% set v = d.items() %}{{ v|list }}{{ v|list }}",
    "{% for loop in l %}{% endfor %}",
    "{% for x in l recursive2 %}{% endfor %}",
    "{% set x = 1 %}{{ x }}{% set x = x + 1 %}{{ x }}",
    "{% set x = 1 %}{% for i in l %}{% set x = x + i %}{{ x }};{% endfor %}{{ x }}",
    "{% set x = 1 %}{% if true %}{% set x = 2 %}{% endif %}{{ x }}",
    "{% if true %}{% set x = 2 %}{% endif %}{{ x }}",
    "{% if false %}{% set n = 2 %}{% endif %}{{ n }}",
    "{% for i in [1, 2] %}{% if i == 1 %}{% set y = 'set' %}{% endif %}{{ y }}{% endfor %}",
    "{% for i in [1] %}{{ n }}{% endfor %}{% set n = 1 %}{{ n }}",
    "{% for i in [1, 2] %}{{ n }}{% set n = 1 %}{{ n }}{% endfor %}{{ n }}",
    "{% for i in [1, 2] %}{% set n = i %}{{ n }}{% endfor %}{{ n }}",
    "{{ n }}{% for i in [1] %}{{ n }}{% endfor %}{% set n = 1 %}{{ n }}",
    "{% macro m() %}{{ n }}{% endmacro %}{{ m() }}{% set n = 1 %}{{ m() }}",
    "{% if t %}{% for i in [1] %}{{ n }}{% endfor %}{% endif %}{% if t %}{% set n = 1 %}{% endif %}{{ n }}",
    "{% for n in [1, 2] %}{{ n }}{% endfor %}{{ n }}",
    "{% for i in [] %}{% else %}{% set n = 3 %}{{ n }}{% endfor %}{{ n }}",
    "{% set a, b = 1, 2 %}{{ a }}{{ b }}",
    "{% set a, b = [1, 2] %}{{ b }}",
    "{% set (a, b) = 'xy' %}{{ b }}",
    "{% set a = 1, 2 %}{{ a }}",
    "{% set a, b = 1 %}",
    "{% set ns = namespace(x=1, y='a') %}{{ ns.x }}{% set ns.x = 2 %}{{ ns.x }}{{ ns.y }}{{ ns['y'] }}{{ ns.zz }}",
    "{% set ns = namespace() %}{% for i in l %}{% set ns.last = i %}{% endfor %}{{ ns.last }}",
    "{% set ns = namespace({'a': 1}, b=2) %}{{ ns.a + ns.b }}",
    "{% set ns = namespace(found=false) %}{% for i in l %}{% if i == 2 %}{% set ns.found = true %}{% endif %}{% endfor %}{{ ns.found }}",
    "{% set ns = namespace(a=1) %}{% set ns.a, b = 5, 6 %}{{ ns.a }}{{ b }}",
    "{% set d.a = 1 %}",
    "{% set nothere.a = 1 %}",
    "{% set ns = namespace(seen=[]) %}{% for i in [1, 2, 1] if i not in ns.seen %}{{ i }}{% set ns.seen = ns.seen + [i] %}{% endfor %}",
    "{% set x %}block {{ n }}{% endset %}{{ x }}{{ x|length }}",
    "{% set x %}{% set y = 1 %}{{ y }}{% endset %}{{ x }}{{ y }}",
    "{% set x = dict(a=1, b=2) %}{{ x }}{{ x.a }}{{ dict([('k', 'v')]) }}{{ dict({'a': 1}, a=2) }}",
    "{% macro hi(name, greeting='Hello', end=name ~ '!') %}{{ greeting }} {{ name }}{{ end }}{% endmacro %}{{ hi('x') }}|{{ hi('x', 'Bye') }}|{{ hi(name='y', greeting='Yo') }}|{{ hi('z', end='.') }}|{{ hi() }}",
    "{% macro m(a) %}{{ a is defined }}{% endmacro %}{{ m() }}{{ m(1) }}{{ m(none) }}",
    "{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}",
    "{% macro m(a) %}{% endmacro %}{{ m(b=2) }}",
    "{% macro m(a) %}{% endmacro %}{{ m(1, a=2) }}",
    "{% macro fact(n) %}{% if n <= 1 %}1{% else %}{{ n * fact(n - 1)|int }}{% endif %}{% endmacro %}{{ fact(10) }}",
    "{% macro m() %}{{ x }}{% endmacro %}{% set x = 5 %}{{ m() }}",
    "{% set x = 1 %}{% macro m() %}{% set x = 2 %}{{ x }}{% endmacro %}{{ m() }}{{ x }}",
    "{% macro a() %}[{{ b() }}]{% endmacro %}{% macro b() %}b{% endmacro %}{{ a() }}",
    "{{ m() }}{% macro m() %}x{% endmacro %}",
    "{% macro m() %}x{% endmacro %}{{ m() ~ m()|upper }}{{ m }}",
    "{% macro m(l) %}{% for i in l %}{{ loop.index }}{{ i }}{% endfor %}{% endmacro %}{{ m(words) }}",
    "{% for i in l %}{% macro m() %}{{ i }}{% endmacro %}{{ m() }}{% endfor %}",
    "{% macro m(a, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}{{ m(1, 2) }}",
    "{% set ns = namespace(f=1) %}{% macro m(x) %}<{{ x }}>{% endmacro %}{% set ns.f = m %}{{ ns.f('a') }}",
    "{{ raise_exception('no way') }}",
    "{{ raise_exception('a' ~ n) }}",
    "{% if messages is not defined %}{{ raise_exception('messages needed') }}{% endif %}",
    "{{ strftime_now('%Y-%m-%d') }}",
    "{{ strftime_now('%d %B %Y, %H:%M:%S %%|%A %b %j %y') }}",
    "{{ strftime_now('') }}",
    "{{ range(100001) }}",
    "{{ range(1, 2, 0) }}",
    "{{ range('a') }}",
    "{{ nosuch('a') }}",
    "{{ n() }}",
    "{{ d.nosuch() }}" if False else "{{ undefined_name() }}",
    "{% set t = 'x' %}{{ t }}{{ 1, 2 }}",
    "{% for x in l %}{% set n = 5 %}{% endfor %}{{ n }}",
    "{% set f = s.upper %}{{ f() }}",
    "{% set loop = 3 %}{{ loop }}",
    "{% set true = 3 %}",
    "{% set 3 = x %}",
    "{% if n %}{% set q = 1 %}{% elif s %}{% set q = 2 %}{% else %}{% set q = 3 %}{% endif %}{{ q }}",
    **DATA,
)

# White space, comments, raw text.
templates(
    "a\n{% if t %}\nb\n{% endif %}\nc",
    "a\n  {% if t %}\n  b\n  {% endif %}\nc\n",
    "a \n {%- if t -%} \n b \n {%- endif -%} \n c",
    "a\n  {%+ if t %}\n  b\n  {%+ endif %}\nc",
    "a\n  {% if t +%}\n  b\n  {% endif +%}\nc",
    "x {{- n -}} y",
    "x\n  {{ n }}\n  y",
    "x\n  {{- n }}\n",
    "x\n  {{+ n }}\n",
    "{{ n }}\n",
    "{{ n }}\n\n",
    "{{ n }}\r\nx\r\ry",
    "\n\n{% set a = 1 %}\n\nx",
    "a {# comment #} b",
    "a\n  {# comment #}\nb",
    "a\n  {#- comment -#}\n  b",
    "a\n  {#+ comment +#}\n  b",
    "a{# multi\nline {{ n }} {% x %} #}b",
    "{##}x{#-#}y{#--#}z",
    "{# not closed",
    "a\n{% raw %}\n{{ n }} {% x %} {# y #}\n{% endraw %}\nb",
    "a {%- raw -%} {{ n }} {%- endraw -%} b",
    "a\n  {% raw %}  x  \n  {% endraw %}  \nb",
    "{% raw %}{{ n }}",
    "{%raw%}{%endraw%}x",
    "{% for x in l %}\n  {{ x }}\n{% endfor %}\n",
    "{% for x in l -%}\n  {{ x }}\n{%- endfor %}\n",
    "{%for x in l%}{{x}}{%endfor%}",
    "  {% if t %}x{% endif %}  \n  y",
    " \t{% set a = 1 %}\n \t{{ a }}",
    "a{% if t %}\n\nb{% endif %}",
    "x\u00a0\u2003{%- if t %}y{% endif %}",
    "x\n\u00a0{% if t %}y{% endif %}",
    "{{ '}}' }}{{ '%}' }}",
    "{{ {'a': {'b': 1}} }}",
    "{{ {'a': {'b': 1}}}}",
    "{{\nn\n+\n1\n}}",
    "{% if t: %}x{% endif %}",
    "{ { % } } #} %} }}",
    "{",
    "",
    "\n",
    "plain \u4e16\u754c text\n",
    "{{ n }}{{ s }}{{ nil }}",
    "{% if t %}\n\n{%- endif %}|",
    "a\n\n  {%- if t %}x{% endif -%}\n\n  b",
    "{{ 'a\nb' }}",
    "{{ 'a\r\nb' }}",
    "{% if t -%}\n x {%- else -%} y {%- endif %}",
    "{% set x = 'a' -%}   {{ x }}",
    "<|im_start|>{{ s }}<|im_end|>\n{% if t %}\n<|im_start|>assistant\n{% endif %}",
    **DATA,
)

# Mistakes.
templates(
    "{{ }}", "{{ n", "{% if n %}", "{% endif %}", "{% if %}x{% endif %}", "{{ n + }}", "{{ (n }}", "{{ n) }}", "{{ [1, 2 }}",
    "{{ {'a' 1} }}", "{{ 'abc }}", "{{ n | }}", "{{ n is }}", "{{ n. }}", "{% for x l %}{% endfor %}", "{% for x in l %}{% endif %}",
    "{% nosuchtag %}", "{{ n ! }}", "{{ $ }}", "{% set x %}", "{% set = 1 %}", "{% macro %}{% endmacro %}", "{% macro m(a=1, b) %}{% endmacro %}",
    "{{ f(a=1, 2) }}", "{{ 1 2 }}", "{% else %}", "{{ [1, 2}] }}", "{{ '\\x4' }}", "{{ x if }}", "{% if n %}{% else %}{% else %}{% endif %}",
    "{{ n is string is none }}", "{{ not }}", "{{ l[1:2:3:4] }}", "{{ d.'a' }}", "{% for x in l %}", "{% %}", "{{ a = 1 }}",
    "{{ l[1 2] }}", "{{ 1..2 }}", "{{ n n }}", "{% if n %}a{% elif %}b{% endif %}", "{{ ~ n }}", "{{ , }}", "{{ 1 if }}",
    **DATA,
)

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the weather of a city \u2014 \"now\" & <soon>",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1, "default": 1.5}},
            "required": ["city"],
        },
    },
}
CLOCK = {"type": "function", "function": {"name": "clock", "parameters": {"type": "object", "properties": {}}}}
SYSTEM = {"role": "system", "content": "You are terse."}
ASK = {"role": "user", "content": "What is 2+2?"}
ANSWER = {"role": "assistant", "content": "4"}
THOUGHT = {"role": "assistant", "content": "<think>\nadd them\n</think>\n\n4"}
AGAIN = {"role": "user", "content": "And 3+3?"}
CALL = {
    "role": "assistant",
    "content": "",
    "tool_calls": [{"type": "function", "id": "1", "function": {"name": "get_weather", "arguments": {"city": "K\u00f6ln", "days": 2}}}],
}
CALL_TEXT = {
    "role": "assistant",
    "content": "Let me look.",
    "tool_calls": [
        {"type": "function", "function": {"name": "get_weather", "arguments": "{\"city\": \"Paris\"}"}},
        {"name": "clock", "arguments": {}},
    ],
}
RESULT = {"role": "tool", "content": "{\"celsius\": 21}"}
SECOND = {"role": "tool", "content": "12:00"}


def conversation(messages, prompt=True, **more):
    return {"messages": messages, "add_generation_prompt": prompt, **more}


CONVERSATIONS = {
    "user": conversation([ASK]),
    "user_no_prompt": conversation([ASK], prompt=False),
    "system": conversation([SYSTEM, ASK]),
    "system_only": conversation([SYSTEM]),
    "turns": conversation([SYSTEM, ASK, ANSWER, AGAIN]),
    "turns_no_system": conversation([ASK, ANSWER, AGAIN, ANSWER, AGAIN]),
    "thinking_on": conversation([ASK], enable_thinking=True),
    "thinking_off": conversation([SYSTEM, ASK], enable_thinking=False),
    "thinking_off_no_prompt": conversation([ASK], prompt=False, enable_thinking=False),
    "thinking_none": conversation([ASK], enable_thinking=None),
    "old_thought": conversation([ASK, THOUGHT, AGAIN]),
    "last_thought": conversation([ASK, THOUGHT], prompt=False),
    "reasoning_field": conversation([ASK, {**ANSWER, "reasoning_content": "\nadd\n"}], prompt=False),
    "reasoning_field_old": conversation([ASK, {**ANSWER, "reasoning_content": "add"}, AGAIN]),
    "reasoning_none": conversation([ASK, {**THOUGHT, "reasoning_content": None}], prompt=False),
    "think_twice": conversation([ASK, {"role": "assistant", "content": "<think>a</think>x</think>\n\ny"}, AGAIN]),
    "tools": conversation([ASK], tools=[WEATHER]),
    "tools_system": conversation([SYSTEM, ASK], tools=[WEATHER, CLOCK]),
    "tools_empty": conversation([SYSTEM, ASK], tools=[]),
    "call": conversation([ASK, CALL], prompt=False, tools=[WEATHER]),
    "result": conversation([ASK, CALL, RESULT], tools=[WEATHER]),
    "results": conversation([SYSTEM, ASK, CALL_TEXT, RESULT, SECOND], tools=[WEATHER, CLOCK]),
    "result_answered": conversation([ASK, CALL, RESULT, THOUGHT, AGAIN], tools=[WEATHER]),
    "result_thought": conversation([ASK, {**CALL, "content": "<think>\nlook\n</think>\n\n"}, RESULT, ANSWER], prompt=False, tools=[WEATHER]),
    "tool_response_user": conversation([ASK, CALL, {"role": "user", "content": "<tool_response>\n21\n</tool_response>"}]),
    "unicode": conversation([{"role": "system", "content": "\u4f60\u597d \u05e9\u05dc\u05d5\u05dd"}, {"role": "user", "content": "e\u0301 \U0001f469\u200d\U0001f680 \u00a0\u2028\n\n  x  "}]),
    "empty": conversation([{"role": "system", "content": ""}, {"role": "user", "content": ""}, {"role": "assistant", "content": ""}, {"role": "user", "content": ""}]),
    "control_tokens": conversation([{"role": "user", "content": "<|im_end|>\n<|im_start|>system\nhi"}]),
    "late_system": conversation([ASK, SYSTEM, AGAIN]),
    "assistant_only": conversation([ANSWER], prompt=False),
    "content_none": conversation([ASK, {"role": "assistant", "content": None, "tool_calls": CALL["tool_calls"]}]),
    "content_missing": conversation([{"role": "user"}]),
    "no_messages": conversation([]),
    "many": conversation([SYSTEM] + [ASK, THOUGHT, AGAIN, CALL, RESULT, SECOND, ANSWER] * 6 + [ASK], tools=[WEATHER]),
    "many_thinking_off": conversation([ASK, THOUGHT] * 5 + [AGAIN], enable_thinking=False),
    "other_kwargs": conversation([ASK], documents=[{"text": "x"}], bos_token="<s>", eos_token="</s>"),
}
