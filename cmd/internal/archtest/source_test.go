// Package archtest checks the structure of this repository: which package may import which, and
// a few rules that no linter has. It reads source files, whatever their build tags, and builds
// nothing.
//
// The rules are data: [Rules] for imports between the packages of this module, [Limits] for
// imports from elsewhere that only some packages may have. ARCHITECTURE.md explains them.
package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Module is the import path of the repository's root. Beside are the folders with Go modules of
// their own to which the rules apply as well.
const (
	Module = "ulnet"
	Beside = "cmd/bench"
)

// Package is one directory of Go source.
type Package struct {
	// Path is relative to the root: "lnet/wire". A file of this module that imports
	// "ulnet/lnet/wire" imports "lnet/wire".
	Path string
	// Files are the files of the folder itself, without its subfolders, tests included, sorted by
	// name.
	Files []*File
}

// File is one Go file.
type File struct {
	Name    string         // path of the file from the root, with slashes
	Test    bool           // the file's name ends in _test.go
	Lines   int            // number of lines, comments and blank lines included
	Imports []string       // imported paths; those of this module from the root
	Fset    *token.FileSet // resolves the positions in AST
	AST     *ast.File      // syntax tree, with comments
}

// Load parses every Go file below root, except in folders that Go itself ignores, and in other
// modules unless Beside lists them. The packages are sorted by path.
func Load(root string) ([]*Package, error) {
	byPath := map[string]*Package{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != root && skipDir(root, name) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		f, err := parse(name, rel)
		if err != nil {
			return err
		}
		dir := path.Dir(rel)
		if byPath[dir] == nil {
			byPath[dir] = &Package{Path: dir}
		}
		byPath[dir].Files = append(byPath[dir].Files, f)
		return nil
	})
	pkgs := make([]*Package, 0, len(byPath))
	for _, p := range byPath {
		pkgs = append(pkgs, p)
	}
	slices.SortFunc(pkgs, func(a, b *Package) int { return strings.Compare(a.Path, b.Path) })
	return pkgs, err
}

func skipDir(root, name string) bool {
	base := filepath.Base(name)
	if base == "testdata" || base[0] == '.' || base[0] == '_' {
		return true
	}
	_, err := os.Stat(filepath.Join(name, "go.mod"))
	return err == nil && name != filepath.Join(root, Beside)
}

func parse(name, rel string) (*File, error) {
	src, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, rel, src, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	f := &File{
		Name:  rel,
		Test:  strings.HasSuffix(rel, "_test.go"),
		Lines: strings.Count(string(src), "\n"),
		Fset:  fset,
		AST:   tree,
	}
	for _, spec := range tree.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		f.Imports = append(f.Imports, strings.TrimPrefix(p, Module+"/"))
	}
	return f, nil
}

// testOnly reports whether the package consists of test files.
func (p *Package) testOnly() bool {
	return !slices.ContainsFunc(p.Files, func(f *File) bool { return !f.Test })
}
