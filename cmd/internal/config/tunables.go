package config

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml/ast"

	"ulnet/cmd/internal/drivers"
	"ulnet/lnd"
)

//go:embed reference.yaml
var reference string

// Reference returns a file with all keys, their defaults and what they mean. It is reference.yaml
// with the tunables of all drivers. They replace the comments that name a driver or one of its
// tunables, such as "# socklnd". If no comment names a driver, its tunables come at the end of the
// file.
var Reference = sync.OnceValue(func() string { return referenceOf(reference, new(drivers.Set).All()) })

func referenceOf(text string, all []drivers.Driver) string {
	for _, d := range all {
		indent, section := "", ""
		if d.Section() != "" {
			indent, section = "  ", d.Section()+":\n"
		}
		if !strings.Contains(text, "# "+d.Name()+"\n") {
			text += "\n" + section + indent + "# " + d.Name() + "\n"
		}
		text = withTunables(text, indent, d.Name(), d.Tunables())
	}
	return text
}

// withTunables replaces each comment that names a driver and one of its tunables, in the form
// "# driver.tunable", by that tunable. The comment "# driver" is replaced by the driver's other
// tunables.
func withTunables(text, indent, driver string, list []lnd.Tunable) string {
	mark := indent + "# " + driver
	list = slices.DeleteFunc(list, func(t lnd.Tunable) bool {
		before := text
		text = strings.Replace(text, mark+"."+t.Name+"\n", paragraph(indent, &t), 1)
		return text != before
	})
	var all strings.Builder
	for i := range list {
		if i > 0 && list[i].Text != "" {
			all.WriteString("\n")
		}
		all.WriteString(paragraph(indent, &list[i]))
	}
	return strings.Replace(text, mark+"\n", all.String(), 1)
}

// paragraph describes a tunable, for people to read.
func paragraph(indent string, t *lnd.Tunable) string {
	var b strings.Builder
	if t.Text != "" {
		for line := range strings.SplitSeq(t.Text, "\n") {
			fmt.Fprintf(&b, "%s# %s\n", indent, line)
		}
	}
	fmt.Fprintf(&b, "%s%s: %d\n", indent, t.Name, t.Default)
	return b.String()
}

// tunableSettings returns the keys of tunables.
func tunableSettings(list []lnd.Tunable) map[string]setting {
	all := make(map[string]setting, len(list))
	for _, t := range list {
		all[t.Name] = setting{func(value ast.Node) error { return setTunable(&t, value) }}
	}
	return all
}

func setTunable(t *lnd.Tunable, value ast.Node) error {
	if t.Flag {
		var yes bool
		if err := flag(&yes).put(value); err != nil {
			return err
		}
		t.Set(map[bool]int{true: 1}[yes])
		return nil
	}
	n, err := integer(value, t.Least, t.Most)
	switch {
	case t.Among != nil && (err != nil || !slices.Contains(t.Among, n)):
		return fmt.Errorf("want %s, not %q", oneOf(t.Among), value)
	case err == nil:
		t.Set(n)
	}
	return err
}

// oneOf lists values as text, such as "1, 2 or 3".
func oneOf[T any](list []T) string {
	var b strings.Builder
	for i, v := range list {
		switch {
		case i > 0 && i == len(list)-1:
			b.WriteString(" or ")
		case i > 0:
			b.WriteString(", ")
		}
		fmt.Fprint(&b, v)
	}
	return b.String()
}
