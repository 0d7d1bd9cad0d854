package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// keyLine is a line of YAML with a key: what it moves in by with its dashes, the key, and the value.
var keyLine = regexp.MustCompile(`^( *(?:- +)*)([^ '"#-][^:'"]*):(?: (.*))?$`)

// compareLayout compares how the keys that two outputs share stand in their lines: columns, dashes,
// quotes, and the words for booleans. It returns "" or what is different. Keys that only one of them
// has, and values, are compared by compareText.
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

// layoutOf returns the forms of the lines of each key, by its path.
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

// styleOf returns how a value is written: the word of a boolean, or with what quotes.
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

// TestCompareLayout: one more column, another dash, other quotes and other words for booleans are
// found, and more keys are none.
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
