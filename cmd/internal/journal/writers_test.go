package journal

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// logCalls are the methods and functions of log/slog that get the text of a line.
var logCalls = []string{"Debug", "Info", "Warn", "Error", "Log", "LogAttrs", "NewRecord"}

// writers are the texts that the code of the repository writes to the log, with their positions.
type writers struct {
	files  token.FileSet
	consts map[string]string   // constants with a text as their value, by name
	texts  map[string][]string // arguments of logCalls, and elements of variables eventTexts
	events map[string][]string // elements of variables eventNames
}

// parseWriters collects the log texts and events in the code of those packages that contain the text
// or the event of an entry of IDs.
func parseWriters(t *testing.T) *writers {
	t.Helper()
	w := &writers{consts: map[string]string{}, texts: map[string][]string{}, events: map[string][]string{}}
	var parsed []*ast.File
	for _, dir := range packagesOfIDs(t) {
		names, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(&w.files, name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			parsed = append(parsed, f)
		}
	}
	for _, note := range []func(ast.Node) bool{w.noteConsts, w.noteTexts} {
		for _, f := range parsed {
			ast.Inspect(f, note)
		}
	}
	return w
}

// noteConsts notes the constants of a declaration.
func (w *writers) noteConsts(n ast.Node) bool {
	if s, ok := n.(*ast.ValueSpec); ok && len(s.Names) == len(s.Values) {
		for i, v := range s.Values {
			if text, ok := w.text(v); ok {
				w.consts[s.Names[i].Name] = text
			}
		}
	}
	return true
}

// noteTexts notes the texts that a call writes to the log, or that a variable eventTexts or eventNames lists.
func (w *writers) noteTexts(n ast.Node) bool {
	switch x := n.(type) {
	case *ast.CallExpr:
		if f, ok := x.Fun.(*ast.SelectorExpr); ok && slices.Contains(logCalls, f.Sel.Name) {
			w.note(w.texts, x.Args[:min(len(x.Args), 3)]) // the text is one of the first three arguments
		}
	case *ast.ValueSpec:
		to := map[string]map[string][]string{"eventTexts": w.texts, "eventNames": w.events}[x.Names[0].Name]
		if len(x.Values) == 1 && to != nil {
			if list, ok := x.Values[0].(*ast.CompositeLit); ok {
				w.note(to, list.Elts)
			}
		}
	}
	return true
}

// note notes the texts among expressions, with their positions.
func (w *writers) note(to map[string][]string, list []ast.Expr) {
	for _, e := range list {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			e = pair.Value
		}
		if text, ok := w.text(e); ok {
			to[text] = append(to[text], fmt.Sprint(w.files.Position(e.Pos())))
		}
	}
}

// text returns the text that an expression stands for.
func (w *writers) text(e ast.Expr) (text string, ok bool) {
	switch x := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(x.Value)
		return text, err == nil && x.Kind == token.STRING
	case *ast.Ident:
		text, ok = w.consts[x.Name]
	}
	return text, ok
}

// packagesOfIDs returns the directories whose code has the text or the event of an id.
func packagesOfIDs(t *testing.T) (dirs []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{"journal", "testdata", "bench", ".git"}, d.Name()):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		code, err := os.ReadFile(path)
		for _, id := range IDs {
			if dir := filepath.Dir(path); !slices.Contains(dirs, dir) &&
				(bytes.Contains(code, []byte(strconv.Quote(id.Text))) || id.Event != "" && bytes.Contains(code, []byte(strconv.Quote(id.Event)))) {
				dirs = append(dirs, dir)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}
