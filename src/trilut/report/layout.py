"""A picture of a layout."""

from pathlib import Path

from trilut.extras import require

__all__ = ["PICTURE_MODULES", "draw_layout"]

PICTURE_MODULES = ("klayout",)
"""What a picture needs."""

# From the lowest metal to the highest, drawn in this order.
_METALS = {
    "metal1": 0x4C72B0,
    "metal2": 0xDD8452,
    "metal3": 0x55A868,
    "metal4": 0xC44E52,
    "metal5": 0x8172B3,
    "metal6": 0x937860,
}


def draw_layout(definition: Path, cells: Path, picture: Path, *, width: int = 1000) -> None:
    """Draw the outlines of the cells and all wires, as a PNG.

    Parameters
    ----------
    definition : Path
        The layout, a DEF file.
    cells : Path
        Abstracts of its cells, a LEF file.
    picture : Path
        What to write.
    width : int
        In pixels.
    """
    require(*PICTURE_MODULES)
    from klayout import db, lay

    options = db.LoadLayoutOptions()
    options.lefdef_config.lef_files = [str(cells)]
    options.lefdef_config.read_lef_with_def = False
    options.lefdef_config.macro_resolution_mode = 1
    options.lefdef_config.dbu = 0.01
    view = lay.LayoutView()
    view.set_config("background-color", "#ffffff")
    view.set_config("grid-visible", "false")
    view.set_config("text-visible", "false")
    view.set_config("cell-box-visible", "false")
    view.load_layout(str(definition), options, True)
    view.max_hier()
    _colour(view, lay)
    box = view.active_cellview().cell.dbbox()
    view.zoom_box(box)
    view.save_image(str(picture), width, round(width * box.height() / box.width()))


def _colour(view: object, lay: object) -> None:
    """Give every metal a colour, and leave out what is no metal."""
    for layer in view.each_layer():  # type: ignore[attr-defined]
        name, _, purpose = layer.source_name.partition(".")
        is_outline = name == "OUTLINE"
        layer.visible = is_outline or (name in _METALS and purpose in ("", "PIN"))
        colour = 0xBBBBBB if is_outline else _METALS.get(name, 0)
        layer.fill_color = layer.frame_color = colour
        # Solid for wires, nothing inside an outline.
        layer.dither_pattern = 1 if is_outline else 0
        layer.width = 1
