// Package docstest checks what the documents of the repository show: every block of code runs,
// parses or compiles, every link leads somewhere, the program of the README is built by a
// foreign module, and every command prints its version.
package docstest

import (
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../../.."

// A document is a Markdown file of the repository.
type document struct {
	name   string // path of the document from the root
	text   string
	blocks []block
}

// A block is a fenced part of a document.
type block struct {
	language string // the word after the fence, "" if there is none
	mark     string // the words after the language in the opening fence
	line     int    // line of the opening fence, counted from 1
	text     string
	output   string // output that the document shows right below the commands
}

// documents returns all documents. The blocks of docs/spec show bytes of references and are not
// checked, unlike the links there.
func documents(t *testing.T) (docs []document) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata" || d.Name() == "bin"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".md"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		docs = append(docs, document{name, string(text), fenced(string(text))})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

// fenced returns the blocks of a text.
func fenced(text string) (blocks []block) {
	inside, end := false, 0
	for i, line := range strings.Split(text, "\n") {
		switch rest, fence := strings.CutPrefix(strings.TrimLeft(line, " "), "```"); {
		case fence && !inside:
			if i > end+2 {
				end = 0
			}
			language, mark, _ := strings.Cut(rest, " ")
			blocks = append(blocks, block{language: language, mark: mark, line: i + 1})
			inside = true
		case fence:
			if n := len(blocks); end > 0 && blocks[n-1].shows() && blocks[n-2].language == "sh" {
				blocks[n-2].output = blocks[n-1].text
			}
			inside, end = false, i
		case inside:
			blocks[len(blocks)-1].text += line + "\n"
		}
	}
	return blocks
}

// shows reports whether a block only shows text, without commands to run.
func (b block) shows() bool {
	return (b.language == "" || b.language == "text") && !strings.HasPrefix(b.text, "$ ")
}

// link matches a Markdown link, but no image and no link to another host.
var link = regexp.MustCompile(`\[[^\]]*\]\(([^)\s]+)\)`)

// heading and anchor match what the fragment of a link can refer to.
var (
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	anchor  = regexp.MustCompile(`<a (?:id|name)="([^"]+)">`)
)

// TestLinks: links between documents lead to files, and to headings in them.
func TestLinks(t *testing.T) {
	anchors := map[string]map[string]bool{}
	docs := documents(t)
	for _, d := range docs {
		set := map[string]bool{}
		for _, h := range heading.FindAllStringSubmatch(d.text, -1) {
			set[slug(h[1])] = true
		}
		for _, a := range anchor.FindAllStringSubmatch(d.text, -1) {
			set[a[1]] = true
		}
		anchors[d.name] = set
	}
	links := 0
	for _, d := range docs {
		for _, l := range link.FindAllStringSubmatch(d.text, -1) {
			u, err := url.Parse(l[1])
			if err != nil || u.Scheme != "" {
				continue
			}
			links++
			target := d.name
			if u.Path != "" {
				target = filepath.Join(filepath.Dir(d.name), u.Path)
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s: %s leads nowhere: %v", d.name, l[0], err)
			} else if set, ok := anchors[target]; ok && u.Fragment != "" && !set[u.Fragment] {
				t.Errorf("%s: %s: %s has no heading or anchor %q", d.name, l[0], target, u.Fragment)
			}
		}
	}
	if links < 50 {
		t.Errorf("%d links: does the expression still find them?", links)
	}
}

// slug returns the fragment of a heading in the form that repository hosts derive.
func slug(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(heading) {
		switch {
		case r == ' ' || r == '-':
			b.WriteByte('-')
		case r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r > 127:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// TestIndex: the index of the documents names every document in its folder.
func TestIndex(t *testing.T) {
	index, err := os.ReadFile(filepath.Join(root, "docs", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name := filepath.Base(file); name != "README.md" && !strings.Contains(string(index), "("+name+")") {
			t.Errorf("docs/README.md has no line for %s", name)
		}
	}
}

// TestReadmeFits: the README has little more than one screen of text.
func TestReadmeFits(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "\n"); n > 75 {
		t.Errorf("README.md has %d lines: what is more than a screen belongs into docs/tour.md", n)
	}
}
