package archtest

import (
	"fmt"
	"go/ast"
)

// Fields returns a line for each exported field, in the exported structs of a package, that has a
// comment neither above it nor after it on the same line.
func Fields(p *Package) []string {
	var bad []string
	for _, f := range p.Files {
		if f.Test {
			continue
		}
		for _, d := range f.AST.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range decl.Specs {
				t, ok := s.(*ast.TypeSpec)
				if !ok || !t.Name.IsExported() {
					continue
				}
				if st, ok := t.Type.(*ast.StructType); ok {
					bad = append(bad, f.bare(t.Name.Name, st)...)
				}
			}
		}
	}
	return bad
}

// bare returns a line for each exported field of a struct if the field has no comment.
func (f *File) bare(name string, st *ast.StructType) []string {
	var bad []string
	for _, field := range st.Fields.List {
		if field.Doc != nil || field.Comment != nil {
			continue
		}
		for _, id := range field.Names {
			if id.IsExported() {
				bad = append(bad, fmt.Sprintf("%s: %s.%s has no comment: say its unit, range and meaning", f.Fset.Position(id.Pos()), name, id.Name))
			}
		}
	}
	return bad
}
