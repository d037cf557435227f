"""Parts for Ferrule that live outside its tree."""
