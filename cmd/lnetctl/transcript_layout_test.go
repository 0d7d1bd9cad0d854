package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// keyLine matches a line of YAML with a key: the indentation with dashes, the key, and the
// value.
var keyLine = regexp.MustCompile(`^( *(?:- +)*)([^ '"#-][^:'"]*):(?: (.*))?$`)

// compareLayout compares the layout of the keys that two outputs share: columns, dashes, quotes,
// and the words for booleans. It returns the difference, or "" if there is none. The function
// compareText compares values, and keys that only one output has.
func compareLayout(got, want string) string {
	gotForms, wantForms := layoutOf(withoutComments(got)), layoutOf(want)
	for _, path := range slices.Sorted(maps.Keys(wantForms)) {
		forms, has := gotForms[path]
		if has && !slices.Equal(forms, wantForms[path]) {
			return fmt.Sprintf("lines of %s look like %q, want %q", path, forms, wantForms[path])
		}
	}
	return ""
}

// layoutOf returns the layouts of the lines that have a key, by the path of the key.
func layoutOf(text string) map[string][]string {
	type open struct {
		column int
		path   string
	}
	forms, parents := map[string][]string{}, []open(nil)
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		m := keyLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		column := len(m[1])
		for len(parents) > 0 && parents[len(parents)-1].column >= column {
			parents = parents[:len(parents)-1]
		}
		path := m[2]
		if len(parents) > 0 {
			path = parents[len(parents)-1].path + "/" + m[2]
		}
		parents = append(parents, open{column, path})
		form := m[1] + m[2] + ":" + styleOf(m[3])
		if !slices.Contains(forms[path], form) {
			forms[path] = append(forms[path], form)
			slices.Sort(forms[path])
		}
	}
	return forms
}

// styleOf returns how a value is written: the word for a boolean, or the kind of quotes.
func styleOf(value string) string {
	switch value {
	case "":
		return ""
	case "true", "false":
		return " true"
	case "True", "False":
		return " True"
	}
	text, tagged := strings.CutPrefix(value, "! ")
	style := " value"
	if text != "" && strings.Contains(`"'`, text[:1]) {
		style = " " + text[:1]
	}
	if tagged {
		return " !" + style
	}
	return style
}

// TestCompareLayout: a moved column, another dash, other quotes and other words for booleans are
// differences. An additional key is not.
func TestCompareLayout(t *testing.T) {
	const want = "peer:\n-     primary nid: a\n      Multi-Rail: true\n      peer ni:\n      -     nid: b\n      -     nid: c\n"
	for _, c := range []struct {
		old, new string
		found    bool
	}{
		{"", "", false},
		{"nid: b", "nid: x", false},
		{"      -     nid: c\n", "      -     nid: c\n            cause: none\n", false},
		{"Multi-Rail: true", "Multi-Rail: false", false},
		{"Multi-Rail: true", "Multi-Rail: True", true},
		{"-     primary", "    - primary", true},
		{"-     nid: c", "- nid: c", true},
		{"      Multi", "     Multi", true},
		{"nid: b", "nid: \"b\"", true},
		{"      -     nid: b\n      -     nid: c\n", "        - nid: b\n        - nid: c\n", true},
	} {
		if diff := compareLayout(strings.Replace(want, c.old, c.new, 1), want); (diff != "") != c.found {
			t.Errorf("%q instead of %q: %q", c.new, c.old, diff)
		}
	}
}
