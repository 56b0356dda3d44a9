"""What the engine tests share: tiny models, a server driver, vectors made from the stock adaptive rule."""
