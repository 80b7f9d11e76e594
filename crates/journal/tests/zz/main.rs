mod damage;
mod support;
