package mutants

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// This file writes mutant schemata (Untch, Offutt and Harrold 1993): one text of a
// file that contains several mutants. A mutated function stands in it as a copy with
// another name, and the original begins with a switch that calls the copy if the
// mutant is chosen:
//
//	func (m *Machine) step(now int64) { switch chosenMutant { case 3: m.mutant3_step(now); return };
//		...
//	}
//
//	func (m *Machine) mutant3_step(now int64) {
//		...
//	}

// chooser is the file that is added to a package with mutants. Its variable chosenMutant is initialized
// before any function that refers to it runs.
const chooser = `package %s

import (
	"os"
	"strconv"
)

var chosenMutant, _ = strconv.Atoi(os.Getenv("` + chooserEnv + `"))
`

// chooserEnv names the mutant to a test binary, by its number from 1. Without it the
// binary behaves as the original.
const chooserEnv = "ULNET_MUTANT"

// A schema is the text of one file to which mutants are added one by one.
type schema struct {
	text   string
	funcs  map[string]*ast.FuncDecl // functions of the package by receiver and name
	rest   string                   // declarations that are not functions
	cases  map[string]*bytes.Buffer // cases of the switch in each mutated function
	copies bytes.Buffer
}

func newSchema(file, text string) (*schema, error) {
	s := &schema{text: text, cases: make(map[string]*bytes.Buffer)}
	var err error
	s.funcs, s.rest, err = declarations(file, text)
	return s, err
}

// declarations parses a file and returns its functions, and the text of all other
// declarations.
func declarations(file, text string) (map[string]*ast.FuncDecl, string, error) {
	f, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, "", err
	}
	funcs := make(map[string]*ast.FuncDecl)
	rest := f.Name.Name
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			rest += "\n" + span(text, d)
			continue
		}
		key := fn.Name.Name
		if fn.Recv != nil {
			key = span(text, fn.Recv) + key
		}
		for funcs[key] != nil { // init may be declared several times, so number it
			key += "'"
		}
		funcs[key] = fn
	}
	return funcs, rest, nil
}

// span returns the text of a node, without its comment. The parser had one file, so
// that positions are offsets plus one.
func span(text string, n ast.Node) string { return text[n.Pos()-1 : n.End()-1] }

// add adds the changed text of the file as the mutant with the given number, and reports whether a
// switch at run time can express it: only bodies of functions change.
func (s *schema) add(number int, file, mutated string) (bool, error) {
	funcs, rest, err := declarations(file, mutated)
	if err != nil {
		return false, err
	}
	if rest != s.rest || len(funcs) != len(s.funcs) {
		return false, nil
	}
	var changed []string
	for key, fn := range funcs {
		old := s.funcs[key]
		if old == nil || old.Body == nil || span(s.text, old.Type) != span(mutated, fn.Type) {
			return false, nil
		}
		if span(s.text, old.Body) != span(mutated, fn.Body) {
			changed = append(changed, key)
		}
	}
	slices.Sort(changed)
	for _, key := range changed {
		s.addFunc(number, key, mutated, funcs[key])
	}
	return true, nil
}

// addFunc adds a mutated function.
func (s *schema) addFunc(number int, key, mutated string, fn *ast.FuncDecl) {
	name := fmt.Sprintf("mutant%d_%s", number, fn.Name.Name)
	// The receiver, then the new name, then the rest of the function.
	fmt.Fprintf(&s.copies, "\n%s%s%s\n", mutated[fn.Pos()-1:fn.Name.Pos()-1], name, mutated[fn.Name.End()-1:fn.End()-1])

	call := name
	if fn.Recv != nil {
		call = nameOf(fn.Recv, 0, "receiver") + "." + name
	} else if t := fn.Type.TypeParams; t != nil {
		call += "[" + strings.Join(names(t, "type"), ", ") + "]"
	}
	call += "(" + strings.Join(names(fn.Type.Params, "argument"), ", ")
	if n := len(fn.Type.Params.List); n > 0 {
		if _, ok := fn.Type.Params.List[n-1].Type.(*ast.Ellipsis); ok {
			call += "..."
		}
	}
	call += ")"
	if s.cases[key] == nil {
		s.cases[key] = new(bytes.Buffer)
	}
	if fn.Type.Results.NumFields() > 0 {
		fmt.Fprintf(s.cases[key], "case %d: return %s; ", number, call)
	} else {
		fmt.Fprintf(s.cases[key], "case %d: %s; return; ", number, call)
	}
}

// names lists the names of parameters, with a made-up name for each that has none.
func names(list *ast.FieldList, madeUp string) (all []string) {
	for _, field := range list.List {
		for range max(1, len(field.Names)) {
			all = append(all, nameOf(list, len(all), madeUp))
		}
	}
	return all
}

// nameOf returns the name of parameter number index of a list, or madeUp if that parameter has no name.
func nameOf(list *ast.FieldList, index int, madeUp string) string {
	i := 0
	for _, field := range list.List {
		for _, name := range field.Names {
			if i == index && name.Name != "_" {
				return name.Name
			}
			i++
		}
		if len(field.Names) == 0 {
			i++
		}
	}
	return fmt.Sprintf("%s%d", madeUp, index)
}

// An edit replaces the text between two offsets.
type edit struct {
	from, to int
	text     string
}

// String returns the text of the file with all mutants. Lines of the original keep
// their numbers.
func (s *schema) String() string {
	var edits []edit
	for key, cases := range s.cases {
		fn := s.funcs[key]
		at := int(fn.Body.Lbrace) // offset just behind the opening brace
		edits = append(edits, edit{at, at, " switch chosenMutant { " + cases.String() + "};"})
		edits = append(edits, nameAll(fn.Recv, "receiver")...)
		edits = append(edits, nameAll(fn.Type.Params, "argument")...)
	}
	slices.SortFunc(edits, func(a, b edit) int { return b.from - a.from })
	text := s.text
	for _, e := range edits { // from the last edit, so that the offsets of the others stay valid
		text = text[:e.from] + e.text + text[e.to:]
	}
	return text + s.copies.String()
}

// nameAll gives a name to each parameter that has none.
func nameAll(list *ast.FieldList, madeUp string) (edits []edit) {
	if list == nil {
		return nil
	}
	i := 0
	for _, field := range list.List {
		if len(field.Names) == 0 {
			at := int(field.Pos()) - 1
			edits = append(edits, edit{at, at, nameOf(list, i, madeUp) + " "})
			i++
		}
		for _, name := range field.Names {
			if name.Name == "_" {
				edits = append(edits, edit{int(name.Pos()) - 1, int(name.End()) - 1, nameOf(list, i, madeUp)})
			}
			i++
		}
	}
	return edits
}
