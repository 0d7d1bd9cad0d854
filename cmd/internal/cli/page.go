package cli

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// pageOf returns the manual page of a command, with exitStatus as the text of the section of that
// name.
func pageOf(c *cobra.Command, exitStatus string) (string, error) {
	month, err := monthOfBuild()
	if err != nil {
		return "", err
	}
	c.InitDefaultHelpCmd()
	c.InitDefaultHelpFlag()
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	var page strings.Builder
	fmt.Fprintf(&page, ".TH \"%s\" \"8\" \"%s\" \"ulnet\" \"\"\n.nh\n", Roff(strings.ToUpper(name)), month)
	page.WriteString(".SH NAME\n" + Roff(name) + ` \- ` + Roff(c.Short) + "\n")
	page.WriteString(".SH SYNOPSIS\n\\fB" + Roff(c.UseLine()) + "\\fP\n.SH DESCRIPTION\n" + description(c))
	page.WriteString(optionList("OPTIONS", c.NonInheritedFlags()))
	page.WriteString(optionList("OPTIONS INHERITED FROM PARENT COMMANDS", c.InheritedFlags()))
	if c.Example != "" {
		page.WriteString(".SH EXAMPLE\n" + literal(c.Example))
	}
	page.WriteString(".SH EXIT STATUS\n")
	for line := range strings.Lines(exitStatus) {
		code, meaning, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		page.WriteString(".TP\n\\fB" + Roff(code) + "\\fP\n" + Roff(meaning) + "\n")
	}
	page.WriteString(seeAlso(c, name))
	return page.String(), nil
}

// monthOfBuild returns the month that pages show: that of $SOURCE_DATE_EPOCH, which makes builds
// repeatable, or this one.
func monthOfBuild() (string, error) {
	at := time.Now()
	if epoch := os.Getenv("SOURCE_DATE_EPOCH"); epoch != "" {
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil {
			return "", Hint(fmt.Errorf("SOURCE_DATE_EPOCH is %q", epoch), "it is the seconds since 1970, as 'git log -1 --format=%%ct' prints them")
		}
		at = time.Unix(seconds, 0)
	}
	return at.UTC().Format("Jan 2006"), nil
}

// description returns the long text of a command, or else the short one. An indented line keeps its form,
// as in examples. A paragraph that begins with #### is a title.
func description(c *cobra.Command) string {
	text := c.Long
	if text == "" {
		text = c.Short
	}
	var b strings.Builder
	for part := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if part = strings.Trim(part, "\n"); part == "" {
			continue
		}
		if title, is := strings.CutPrefix(part, "#### "); is {
			b.WriteString(".SS " + Roff(title) + "\n")
			continue
		}
		if b.Len() > 0 {
			b.WriteString(".PP\n")
		}
		b.WriteString(paragraph(part))
	}
	return b.String()
}

// paragraph formats a text that has no empty lines. Its indented lines keep their form.
func paragraph(text string) string {
	var b strings.Builder
	var fixed []string
	flush := func() {
		if len(fixed) > 0 {
			b.WriteString(literal(strings.Join(fixed, "\n")))
		}
		fixed = nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "\t") {
			fixed = append(fixed, line)
			continue
		}
		flush()
		b.WriteString(Roff(line) + "\n")
	}
	flush()
	return b.String()
}

// literal returns lines that keep their form.
func literal(text string) string {
	var b strings.Builder
	b.WriteString(".EX\n")
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		b.WriteString(Roff(line) + "\n")
	}
	return b.String() + ".EE\n"
}

// optionList returns a section with a paragraph for each option.
func optionList(title string, flags *pflag.FlagSet) string {
	if !flags.HasAvailableFlags() {
		return ""
	}
	var b strings.Builder
	b.WriteString(".SH " + title + "\n")
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Deprecated == "" && !f.Hidden {
			b.WriteString(".TP\n" + optionTag(f) + "\n" + boldNames(Roff(f.Usage)) + "\n")
		}
	})
	return b.String()
}

// optionTag returns the names of an option and its default.
func optionTag(f *pflag.Flag) string {
	tag, value := `\fB`+Roff("--"+f.Name)+`\fP`, "="+f.DefValue
	if f.Shorthand != "" && f.ShorthandDeprecated == "" {
		tag = `\fB` + Roff("-"+f.Shorthand) + `\fP, ` + tag
	}
	if f.Value.Type() == "string" {
		value = "=" + strconv.Quote(f.DefValue)
	}
	if f.NoOptDefVal != "" {
		value = "[" + value + "]"
	}
	return tag + Roff(value)
}

// boldNames prints what stands in backquotes, the names of values, in bold.
func boldNames(text string) string {
	return regexp.MustCompile("`([^`]*)`").ReplaceAllString(text, `\fB$1\fP`)
}

// seeAlso names the pages of the command above and of those below.
func seeAlso(c *cobra.Command, name string) string {
	var pages []string
	if c.HasParent() {
		pages = append(pages, strings.ReplaceAll(c.Parent().CommandPath(), " ", "-"))
	}
	subs := slices.Clone(c.Commands())
	slices.SortFunc(subs, func(a, b *cobra.Command) int { return strings.Compare(a.Name(), b.Name()) })
	for _, sub := range subs {
		if sub.IsAvailableCommand() && !sub.IsAdditionalHelpTopicCommand() {
			pages = append(pages, name+"-"+sub.Name())
		}
	}
	if len(pages) == 0 {
		return ""
	}
	for i, page := range pages {
		pages[i] = `\fB` + Roff(page) + `(8)\fP`
	}
	return ".SH SEE ALSO\n" + strings.Join(pages, ", ") + "\n"
}
