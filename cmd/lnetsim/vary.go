package main

import (
	"strconv"
	"strings"
	"time"

	"ulnet/cmd/internal/cli"
)

// variation are the settings that a sweep varies. All have the same number of values and
// change in step.
type variation struct {
	keys   []string
	values [][]string // values[k] are the values that the setting keys[k] takes
	x      []float64  // values of the first setting as numbers; times are in seconds
}

// parseVary parses the arguments of --vary.
func parseVary(args []string) (*variation, error) {
	v := &variation{}
	for _, arg := range args {
		key, list, ok := strings.Cut(arg, "=")
		values := strings.Split(list, ",")
		switch {
		case !ok || key == "" || strings.ContainsAny(arg, " \t\n#"):
			return nil, cli.Usagef("--vary %q: want a setting and its values, as in nodes=32,64", arg)
		case len(v.values) > 0 && len(values) != len(v.values[0]):
			return nil, cli.Usagef("--vary %s has %d values, %s has %d: they go in step", key, len(values), v.keys[0], len(v.values[0]))
		}
		v.keys, v.values = append(v.keys, key), append(v.values, values)
	}
	if len(v.keys) == 0 {
		return nil, cli.Usagef("--vary is missing: a setting and its values, as in nodes=32,64")
	}
	for _, text := range v.values[0] {
		x, ok := parseNumber(text)
		if !ok {
			return nil, cli.Usagef("--vary %s: %q is no number and no time", v.keys[0], text)
		}
		v.x = append(v.x, x)
	}
	return v, nil
}

func (v *variation) axis() string { return v.keys[0] }

// describe describes step i, as in "nodes=32 supervisors=16".
func (v *variation) describe(i int) string {
	var words []string
	for k, key := range v.keys {
		words = append(words, key+"="+v.values[k][i])
	}
	return strings.Join(words, " ")
}

// apply returns a scenario with the settings of step i. A setting replaces the line of the
// scenario that sets it, or is added after the line "protocol". The setting "heal" is the time
// of the line "at TIME heal", when partitions and cuts end.
func (v *variation) apply(text string, i int) string {
	lines := strings.Split(text, "\n")
	for k, key := range v.keys {
		words := []string{"set", key}
		if key == "nodes" || key == "run" || key == "seed" {
			words = words[1:]
		}
		line, at, found := strings.Join(words, " ")+" "+v.values[k][i], 0, false
		for n, l := range lines {
			have := strings.Fields(l)
			if key == "heal" && len(have) == 3 && have[0] == "at" && have[2] == key {
				lines[n], found = "at "+v.values[k][i]+" heal", true
			}
			if len(have) > len(words) && strings.Join(have[:len(words)], " ") == strings.Join(words, " ") {
				lines[n], found = line, true
			}
			if at == 0 && len(have) > 0 && have[0] == "protocol" {
				at = n
			}
		}
		if !found {
			lines[at] += "\n" + line
			lines = strings.Split(strings.Join(lines, "\n"), "\n")
		}
	}
	return strings.Join(lines, "\n")
}

// parseNumber parses a value of a setting; times are in seconds.
func parseNumber(text string) (float64, bool) {
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		return v, true
	}
	d, err := time.ParseDuration(text)
	return d.Seconds(), err == nil
}

// marks are points for the plot from another source, given by --with.
type marks struct {
	label string
	x, y  []float64
}

// parseMarks parses the arguments of --with.
func parseMarks(args []string) (list []marks, err error) {
	for _, arg := range args {
		label, points, _ := strings.Cut(arg, ": ")
		m := marks{label: label}
		for _, p := range strings.Split(points, ",") {
			left, right, _ := strings.Cut(p, "=")
			x, ok := parseNumber(left)
			y, ok2 := parseNumber(right)
			if !ok || !ok2 || label == "" {
				return nil, cli.Usagef("--with %q: want 'LABEL: X=Y,X=Y'", arg)
			}
			m.x, m.y = append(m.x, x), append(m.y, y)
		}
		list = append(list, m)
	}
	return list, nil
}
