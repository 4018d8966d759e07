# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Part of ./run: the documentation as a site.

docs_packages=("${build_packages[@]}" doxygen git python3 python3-venv)

# The pages by mkdocs, the API reference by Doxygen, whose words on undocumented names are errors. Pictures that are no
# longer what plot_policies, plot_layouts, plot_positions and plot_figures.py draw replace the old ones and are named in `redrawn`.
run_docs() {
    need "${docs_packages[@]}"
    build release --target plot_policies plot_layouts plot_positions || return 1
    local pictures=build/docs/pictures picture
    build/release/docs/site/plot_policies/plot_policies "$pictures/methods" >/dev/null || return 1
    build/release/docs/site/plot_layouts/plot_layouts "$pictures/layouts" || return 1
    build/release/docs/site/plot_positions/plot_positions "$pictures/positions" || return 1
    python3 docs/site/plot_figures.py "$pictures/pictures" || return 1
    redrawn=()
    for picture in "$pictures"/*/*.svg; do
        cmp --silent "$picture" "docs/${picture#"$pictures/"}" && continue
        cp "$picture" "docs/${picture#"$pictures/"}" || return 1
        redrawn+=("docs/${picture#"$pictures/"}")
    done
    [[ ${#redrawn[@]} -eq 0 ]] || say "drawn anew: ${redrawn[*]}"
    make_venv build/docs/venv docs/site/requirements.txt || return 1
    say "building the site"
    NO_MKDOCS_2_WARNING=1 build/docs/venv/bin/mkdocs build --strict --quiet --config-file docs/site/mkdocs.yml || return 1
    local errors=build/docs/doxygen-errors.txt
    doxygen docs/site/Doxyfile 2>"$errors" && [[ ! -s $errors ]] || { cat "$errors" >&2; return 1; }
    awk -f docs/site/doxygen_errors.awk build/docs/doxygen-warnings.txt || return 1
    if grep -rElI --include='*.html' '(<script[^>]*src|<link[^>]*stylesheet[^>]*href)="https?:' build/docs/site; then
        echo "./run docs: these pages load a file from elsewhere; put it in docs/site" >&2
        return 1
    fi
    echo "build/docs/site/index.html"
}
