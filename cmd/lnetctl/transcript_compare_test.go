package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// volatile are the keys whose numbers depend on the run: counters, low-water marks and times.
// Any number counts as equal to any other there.
var volatile = regexp.MustCompile(`^(.*_count|.*_length|.*_credits|mincredits|msgs_.*|rst_alloc|errors|put|get|reply|ack|hello|next_ping|refcount|dev cpt|` +
	`failed_resends|successful_resends|interrupts|dropped|aborted|no route|timeouts?|error|network timeout|tx_q_num_of_buf)$`)

// compareText compares an output with that of the kernel's tool: as YAML if the output is YAML,
// and otherwise as text. It returns the difference, or "" if there is none.
func compareText(got, want string) string {
	got = withoutComments(got)
	wantDocs, err := readDocuments(want)
	if err != nil {
		return compareLines(got, want)
	}
	gotDocs, err := readDocuments(got)
	if err != nil {
		return compareLines(got, want)
	}
	if len(gotDocs) != len(wantDocs) {
		return fmt.Sprintf("%d documents, want %d", len(gotDocs), len(wantDocs))
	}
	for i := range wantDocs {
		if diff := compareNodes("", gotDocs[i], wantDocs[i]); diff != "" {
			return diff
		}
	}
	return ""
}

func compareLines(got, want string) string {
	if strings.TrimSpace(got) != strings.TrimSpace(want) {
		return fmt.Sprintf("%q, want %q", got, want)
	}
	return ""
}

// withoutComments removes the YAML comments by which ulnet's errors say more than those of the
// kernel's tool.
func withoutComments(text string) string {
	lines := strings.SplitAfter(text, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, "#") }), "")
}

// readDocuments parses YAML of several documents, each a mapping. It leaves out the tag that
// libyaml writes before strings, because that only says that they are strings.
func readDocuments(text string) (docs []yaml.MapSlice, err error) {
	var parts []string
	for _, line := range strings.SplitAfter(strings.ReplaceAll(text, ": ! ", ": "), "\n") {
		switch trimmed := strings.TrimSpace(line); {
		case trimmed == "---" || len(parts) == 0:
			parts = append(parts, "")
		}
		if trimmed := strings.TrimSpace(line); trimmed != "---" && trimmed != "..." {
			parts[len(parts)-1] += line
		}
	}
	for _, part := range parts {
		var doc yaml.MapSlice
		if strings.TrimSpace(part) == "" {
			continue
		}
		if err := yaml.UnmarshalWithOptions([]byte(part), &doc, yaml.UseOrderedMap()); err != nil {
			return nil, err
		}
		docs = append(docs, doc)
	}
	return docs, nil
}

// compareNodes compares two nodes of YAML. The output of ulnet (got) may have additional keys in
// a mapping. The kernel's keys must be in the kernel's order.
func compareNodes(path string, got, want any) string {
	switch want := want.(type) {
	case yaml.MapSlice:
		m, is := got.(yaml.MapSlice)
		if !is {
			return fmt.Sprintf("%s is %v, want a mapping", path, got)
		}
		return compareMaps(path, m, want)
	case []any:
		got, is := got.([]any)
		if !is || len(got) != len(want) {
			return fmt.Sprintf("%s has %d items, want %d", path, len(got), len(want))
		}
		for i := range want {
			if diff := compareNodes(fmt.Sprintf("%s[%d]", path, i), got[i], want[i]); diff != "" {
				return diff
			}
		}
		return ""
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		return fmt.Sprintf("%s is %v, want %v", path, got, want)
	}
	return ""
}

func compareMaps(path string, got, want yaml.MapSlice) string {
	at := -1
	for _, item := range want {
		i := slices.IndexFunc(got, func(g yaml.MapItem) bool { return fmt.Sprint(g.Key) == fmt.Sprint(item.Key) })
		here := fmt.Sprintf("%s/%v", path, item.Key)
		switch {
		case i < 0:
			return here + " is missing"
		case i < at:
			return here + " stands too early"
		}
		at = i
		if volatile.MatchString(fmt.Sprint(item.Key)) && isNumber(got[i].Value) && isNumber(item.Value) {
			continue
		}
		if fmt.Sprint(item.Key) == "state" && item.Value == "NA" { // kernels show a state only for routers
			continue
		}
		if diff := compareNodes(here, got[i].Value, item.Value); diff != "" {
			return diff
		}
	}
	return ""
}

func isNumber(v any) bool {
	switch v.(type) {
	case int, int64, uint64:
		return true
	}
	return false
}
